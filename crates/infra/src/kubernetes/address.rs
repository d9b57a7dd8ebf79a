//! Which addresses a cluster may have: whoever registers one makes this server connect there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// What is accepted beyond the usual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// API servers on this machine itself, as in tests and on a laptop.
    pub loopback: bool,
    /// The proxies that a kubeconfig may name, as URLs.
    pub proxies: Vec<String>,
}

/// Names that clouds give to their metadata services, which hand out credentials to whoever asks from here.
const METADATA: [&str; 3] = ["metadata", "metadata.google.internal", "instance-data"];

impl AddressRules {
    /// The address of an API server, as it is kept, or what is wrong with it.
    pub fn server(&self, text: &str) -> Result<String, String> {
        if text.len() > 2048 {
            return Err("is longer than 2048 characters".to_owned());
        }
        let url = Url::parse(text).map_err(|_| "is not an address such as https://host:6443".to_owned())?;
        if url.scheme() != "https" {
            return Err("has to begin with https://: credentials are not sent in the clear".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user or password; put a token into the user's part".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query or fragment".to_owned());
        }
        self.host(url.host().as_ref())?;
        Ok(url.as_str().trim_end_matches('/').to_owned())
    }

    fn host(&self, host: Option<&Host<&str>>) -> Result<(), String> {
        let loopback = match host {
            None => return Err("has no host".to_owned()),
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                if METADATA.contains(&name.as_str()) {
                    return Err("is the metadata service of a cloud, not a cluster".to_owned());
                }
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(Host::Ipv4(address)) => is_loopback((*address).into())?,
            Some(Host::Ipv6(address)) => is_loopback((*address).into())?,
        };
        if loopback && !self.loopback {
            return Err("is this server itself (loopback); give the address that other machines use, \
                        or allow it in the settings: clusters.allowLoopback"
                .to_owned());
        }
        Ok(())
    }

    /// Whether this server may be made to send a request there, by somebody who is not its admin.
    pub(crate) fn reachable(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err("is neither http nor https".to_owned());
        }
        self.host(url.host().as_ref()).map_err(|why| format!("the address {why}"))
    }

    /// A proxy that is allowed, or why it is not.
    pub fn proxy(&self, text: &str) -> Result<String, String> {
        if self.proxies.iter().any(|allowed| allowed.trim_end_matches('/') == text.trim_end_matches('/')) {
            Ok(text.to_owned())
        } else {
            Err("is not a proxy that this server may use; remove it, \
                 or allow it in the settings: clusters.proxies"
                .to_owned())
        }
    }
}

/// Whether it is this machine; an error if it can be no cluster.
fn is_loopback(address: IpAddr) -> Result<bool, String> {
    let address = address.to_canonical();
    let odd = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4.is_multicast() || v4.is_unspecified(),
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local() || v6.is_multicast() || v6.is_unspecified() || is_metadata(v6)
        }
    };
    if odd {
        return Err("is no address of a cluster: link-local (such as metadata services), \
                    multicast and unspecified addresses are refused"
            .to_owned());
    }
    Ok(address.is_loopback())
}

/// The metadata services of clouds over IPv6, and IPv4 link-local written in the ways of IPv6.
fn is_metadata(address: Ipv6Addr) -> bool {
    const AWS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let [.., a, b, c, d] = address.octets();
    let inner = Ipv4Addr::new(a, b, c, d);
    let translated = matches!(address.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0, ..]);
    address == AWS || (translated && inner.is_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_clusters_are_kept_without_a_trailing_slash() {
        let rules = AddressRules::default();
        for (given, kept) in [
            ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
            ("https://api.example/", "https://api.example"),
            ("https://rancher.example/k8s/clusters/c-1", "https://rancher.example/k8s/clusters/c-1"),
            ("https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
        ] {
            assert_eq!(rules.server(given).as_deref(), Ok(kept));
        }
    }

    #[test]
    fn what_is_no_cluster_is_refused_however_it_is_written() {
        let rules = AddressRules { loopback: true, ..AddressRules::default() };
        for bad in [
            "",
            "api.example:6443",
            "http://api.example",
            "ftp://api.example",
            "https://ada:hush@api.example",
            "https://api.example?a=b",
            "https://api.example#a",
            "https://169.254.169.254",
            "https://2852039166",
            "https://0xa9fea9fe",
            "https://[::ffff:169.254.169.254]",
            "https://[64:ff9b::169.254.169.254]",
            "https://[fe80::1]",
            "https://[fd00:ec2::254]",
            "https://0.0.0.0",
            "https://[::]",
            "https://224.0.0.1",
            "https://metadata.google.internal",
            "https://METADATA.google.internal.",
        ] {
            let error = rules.server(bad).unwrap_err();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn this_machine_is_refused_unless_allowed() {
        let local = AddressRules { loopback: true, ..AddressRules::default() };
        for server in ["https://127.0.0.1:6443", "https://[::1]", "https://localhost", "https://a.localhost"]
        {
            assert!(
                AddressRules::default().server(server).unwrap_err().contains("allowLoopback"),
                "{server}"
            );
            local.server(server).unwrap();
        }
    }
}
