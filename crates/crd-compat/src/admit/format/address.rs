//! Network addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address as current Go parses it: no zone, no leading zeros.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// An address as Go parsed it before 1.17, which the API server keeps for compatibility: leading zeros allowed.
pub(super) fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    if !text.contains(':') {
        return parse_ipv4_sloppy(text).map(IpAddr::V4);
    }
    // Only an IPv4 tail can have leading zeros that matter; the rest of IPv6 always allowed four digits.
    let address = match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => format!("{head}:{}", parse_ipv4_sloppy(tail)?),
        _ => text.to_owned(),
    };
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn parse_ipv4_sloppy(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = u8::try_from(decimal(parts.next()?)?).ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// A run of digits, leading zeros allowed, within what Go calls small.
fn decimal(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = text.trim_start_matches('0');
    if digits.is_empty() { Some(0) } else { digits.parse().ok().filter(|value| *value < 0xFF_FFFF) }
}

pub(super) fn is_cidr_sloppy(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let width = if address.contains(':') { 128 } else { 32 };
    parse_ip_sloppy(address).is_some() && decimal(bits).is_some_and(|bits| bits <= width)
}

/// A prefix as Go's `netip` parses it: no zone, no leading zeros.
pub(crate) fn parse_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.rsplit_once('/')?;
    let address = parse_ip(address)?;
    let leading_zero = bits.len() > 1 && bits.starts_with('0');
    let width = if address.is_ipv4() { 32 } else { 128 };
    if leading_zero || !bits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bits: u8 = bits.parse().ok().filter(|bits| *bits <= width)?;
    Some((address, bits))
}

/// A MAC address of 6, 8 or 20 octets, in any of the four notations Go reads.
pub(super) fn is_mac(text: &str) -> bool {
    let bytes = text.as_bytes();
    let groups: Vec<&str> = match (bytes.get(2), bytes.get(4)) {
        (Some(b':'), _) => text.split(':').collect(),
        (Some(b'-'), _) => text.split('-').collect(),
        (_, Some(b'.')) => text.split('.').collect(),
        _ => vec![text],
    };
    let width = groups.first().map(|group| group.len()).unwrap_or_default();
    let digits: usize = groups.iter().map(|group| group.len()).sum();
    matches!(digits, 12 | 16 | 40)
        && groups.iter().all(|group| group.len() == width && group.bytes().all(|b| b.is_ascii_hexdigit()))
}
