//! IP addresses and networks.

use std::net::IpAddr;

use crate::admit::format::{parse_cidr, parse_ip};
use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("isIP", [Val::Text(text)]) => Ok(Val::Bool(ip(text).is_some())),
        ("ip", [Val::Text(text)]) => ip(text).map(Val::Ip).map_or_else(invalid, Ok),
        ("ip.isCanonical", [Val::Text(text)]) => match ip(text) {
            Some(ip) => Ok(Val::Bool(ip_text(ip) == text.as_ref())),
            None => invalid(),
        },
        ("family", [Val::Ip(ip)]) => Ok(Val::Int(if ip.is_ipv4() { 4 } else { 6 })),
        ("isUnspecified", [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_unspecified())),
        ("isLoopback", [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_loopback())),
        ("isLinkLocalMulticast", [Val::Ip(ip)]) => Ok(Val::Bool(is_link_local_multicast(*ip))),
        ("isLinkLocalUnicast", [Val::Ip(ip)]) => Ok(Val::Bool(is_link_local_unicast(*ip))),
        ("isGlobalUnicast", [Val::Ip(ip)]) => Ok(Val::Bool(is_global_unicast(*ip))),
        ("isCIDR", [Val::Text(text)]) => Ok(Val::Bool(cidr(text).is_some())),
        ("cidr", [Val::Text(text)]) => {
            cidr(text).map(|(ip, bits)| Val::Cidr(ip, bits)).map_or_else(invalid, Ok)
        }
        ("ip", [Val::Cidr(ip, _)]) => Ok(Val::Ip(*ip)),
        ("prefixLength", [Val::Cidr(_, bits)]) => Ok(Val::Int(i64::from(*bits))),
        ("masked", [Val::Cidr(ip, bits)]) => Ok(Val::Cidr(mask(*ip, *bits), *bits)),
        ("containsIP", [Val::Cidr(net, bits), Val::Ip(ip)]) => Ok(Val::Bool(holds(*net, *bits, *ip))),
        ("containsIP", [Val::Cidr(net, bits), Val::Text(text)]) => match ip(text) {
            Some(ip) => Ok(Val::Bool(holds(*net, *bits, ip))),
            None => invalid(),
        },
        ("containsCIDR", [Val::Cidr(net, bits), Val::Cidr(inner, inner_bits)]) => {
            Ok(Val::Bool(bits <= inner_bits && holds(*net, *bits, *inner)))
        }
        ("containsCIDR", [Val::Cidr(net, bits), Val::Text(text)]) => match cidr(text) {
            Some((inner, inner_bits)) => Ok(Val::Bool(*bits <= inner_bits && holds(*net, *bits, inner))),
            None => invalid(),
        },
        _ => return None,
    })
}

fn invalid<'a>() -> Eval<Val<'a>> {
    EvalError::failed("address parse error during conversion from string")
}

/// No zone, no leading zeros, and no IPv4 dressed up as IPv6.
fn ip(text: &str) -> Option<IpAddr> {
    parse_ip(text).filter(|ip| !is_mapped(*ip))
}

fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    parse_cidr(text).filter(|(ip, _)| !is_mapped(*ip))
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// An address as Go writes it: the longest run of zeros is shortened, nothing is written as IPv4.
pub(super) fn ip_text(ip: IpAddr) -> String {
    let IpAddr::V6(v6) = ip else { return ip.to_string() };
    let segments = v6.segments();
    let mut best = 0..0;
    let mut start = 0;
    while start < segments.len() {
        let length = segments.iter().skip(start).take_while(|segment| **segment == 0).count();
        if length > best.len() && length > 1 {
            best = start..start + length;
        }
        start += length.max(1);
    }
    let join = |part: &[u16]| part.iter().map(|segment| format!("{segment:x}")).collect::<Vec<_>>().join(":");
    match (segments.get(..best.start), segments.get(best.end..)) {
        (Some(head), Some(tail)) if !best.is_empty() => format!("{}::{}", join(head), join(tail)),
        _ => join(&segments),
    }
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local_unicast(ip))
}

fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or_default();
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or_default();
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn holds(net: IpAddr, bits: u8, ip: IpAddr) -> bool {
    net.is_ipv4() == ip.is_ipv4() && mask(net, bits) == mask(ip, bits)
}
