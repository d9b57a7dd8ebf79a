//! Where a request comes from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::extract::ConnectInfo;
use http::Extensions;
use http::HeaderMap;

/// The header in which proxies say for whom they ask.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// A range of addresses, such as `10.0.0.0/8` or `::1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is no range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no range of addresses, such as 10.0.0.0/8 or 192.0.2.7")]
pub struct BadNetwork(String);

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let bad = || BadNetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= most).ok_or_else(bad)?,
            None => most,
        };
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other, size) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let shift = size - u32::from(self.prefix);
        own.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }
}

/// Where a request really comes from. What proxies say counts only where the proxy is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The other end of the connection.
    pub peer: Option<IpAddr>,
    /// The caller.
    pub caller: Option<IpAddr>,
}

impl Source {
    /// Of a request.
    pub fn of(extensions: &Extensions, headers: &HeaderMap, trusted: &[Network]) -> Self {
        let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_canonical());
        Self { peer, caller: peer.map(|peer| caller(peer, headers, trusted)) }
    }

    /// Whether the connection comes from this machine, and from no proxy on it.
    pub fn is_local(&self, headers: &HeaderMap) -> bool {
        self.peer.is_some_and(|peer| peer.is_loopback()) && !headers.contains_key(FORWARDED_FOR)
    }

    /// As what strangers are counted: the address, or the network that one subscriber has in IPv6.
    pub fn counted_as(&self) -> String {
        match self.caller {
            Some(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
            Some(address) => address.to_string(),
            None => "unknown".to_owned(),
        }
    }
}

/// From the nearest to the farthest, the first that is no proxy of ours: whatever is further away, the
/// caller may have written.
fn caller(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let said: Vec<&str> = headers
        .get_all(FORWARDED_FOR)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    let mut nearest = peer;
    for address in said.iter().rev() {
        if !is_trusted(nearest) {
            break;
        }
        let Ok(address) = address.trim().parse::<IpAddr>() else { break };
        nearest = address.to_canonical();
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        let trusted: Vec<Network> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        caller(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(source("203.0.113.9", &["198.51.100.1"], &[]), "203.0.113.9");
        assert_eq!(source("10.0.0.2", &["198.51.100.1"], &["10.0.0.0/8"]), "198.51.100.1");
        assert_eq!(
            source("10.0.0.2", &["1.1.1.1, 198.51.100.1", "10.9.9.9"], &["10.0.0.0/8"]),
            "198.51.100.1",
            "what the caller wrote is not believed"
        );
        assert_eq!(source("10.0.0.2", &["unknown"], &["10.0.0.0/8"]), "10.0.0.2");
        assert_eq!(source("10.0.0.2", &["10.0.0.3"], &["10.0.0.0/8"]), "10.0.0.3");
    }

    #[test]
    fn ranges_are_read_strictly() {
        let network: Network = "10.1.0.0/16".parse().unwrap();
        assert!(network.contains("10.1.255.255".parse().unwrap()));
        assert!(network.contains("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!network.contains("10.2.0.0".parse().unwrap()));
        assert!("0.0.0.0/0".parse::<Network>().unwrap().contains("8.8.8.8".parse().unwrap()));
        assert!("2001:db8::/32".parse::<Network>().unwrap().contains("2001:db8:1::1".parse().unwrap()));
        for bad in ["", "10.0.0.0/33", "10.0.0.0/", "proxy", "10.0.0.0/-1"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn strangers_of_one_subscriber_count_together() {
        let counted =
            |address: &str| Source { peer: None, caller: Some(address.parse().unwrap()) }.counted_as();
        assert_eq!(counted("2001:db8:1:2:aaaa::1"), counted("2001:db8:1:2:bbbb::2"));
        assert_eq!(counted("192.0.2.1"), "192.0.2.1");
    }
}
