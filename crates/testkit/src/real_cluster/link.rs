//! The cable between this machine and a cluster's network namespace.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::Program;
use tokio::process::Command;

use super::namespace::Namespace;
use crate::wait::until;

/// The networks of clusters: four addresses each.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 0);
const CLUSTERS: u32 = 1 << 14;

/// A pair of virtual network cards. The kernel removes both with the cluster's namespace.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// What this machine calls its end.
    pub(super) name: String,
    /// This machine's address.
    pub(super) host: Ipv4Addr,
    /// The cluster's address.
    pub(super) node: Ipv4Addr,
    /// Its number in the kernel: unlike the name, nobody gets it again.
    index: String,
}

impl Link {
    fn numbered(number: u32) -> Self {
        let first = NETWORK.to_bits() + number * 4;
        Self {
            name: format!("slw{number}"),
            host: Ipv4Addr::from_bits(first + 1),
            node: Ipv4Addr::from_bits(first + 2),
            index: String::new(),
        }
    }

    /// Connects a namespace. The number is the first whose link can be made: the kernel lets only
    /// one of two that try have a name, whatever process they are of.
    pub(super) async fn connect(namespace: &Namespace) -> anyhow::Result<Self> {
        let ip = Program::Ip.find()?;
        let process = namespace.pid().to_string();
        let mut connected = None;
        for number in 0..CLUSTERS {
            let link = Self::numbered(number);
            let output = Command::new(&ip)
                .args(["link", "add", &link.name, "type", "veth", "peer", "name", "eth0", "netns", &process])
                .output()
                .await
                .context("running ip")?;
            if output.status.success() {
                connected = Some(link);
                break;
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if !said.contains("exists") {
                bail!("the network link {} cannot be made: {}", link.name, said.trim());
            }
        }
        let mut link = connected.context("all network links are taken")?;
        link.index = link.current_index();
        let (host, node) = (format!("{}/30", link.host), format!("{}/30", link.node));
        let here = format!("address add {host} dev {0}\nlink set {0} up\n", link.name);
        let there = format!(
            "address add {node} dev eth0\nlink set eth0 up\nlink set lo up\nroute add default via {}\n",
            link.host
        );
        tokio::try_join!(batch(Command::new(&ip), &here), batch(namespace.command(&ip), &there),)?;
        Ok(link)
    }

    fn current_index(&self) -> String {
        fs::read_to_string(Path::new("/sys/class/net").join(&self.name).join("ifindex")).unwrap_or_default()
    }

    /// Waits until the kernel has removed it, which it does a moment after the last process inside ended.
    pub(super) async fn gone(&self) {
        let gone = async || (self.current_index() != self.index).then_some(());
        // What the kernel still holds after that, it removes later; nobody can hurry it.
        let _ = until("the network link to go", Duration::from_secs(10), gone).await;
    }
}

/// Has `ip` do several things at once.
async fn batch(mut ip: Command, lines: &str) -> anyhow::Result<()> {
    use tokio::io::AsyncWriteExt;

    let mut child = ip
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("running ip")?;
    let mut input = child.stdin.take().context("ip has no standard input")?;
    input.write_all(lines.as_bytes()).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        bail!("the network cannot be set up: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_network_of_its_own() {
        let (first, second) = (Link::numbered(0), Link::numbered(64));
        assert_eq!((first.host, first.node), (Ipv4Addr::new(10, 200, 0, 1), Ipv4Addr::new(10, 200, 0, 2)));
        assert_eq!((second.host, second.node), (Ipv4Addr::new(10, 200, 1, 1), Ipv4Addr::new(10, 200, 1, 2)));
        assert_eq!(Link::numbered(CLUSTERS - 1).node, Ipv4Addr::new(10, 200, 255, 254));
    }
}
