//! A cluster with a real node: pods, Services, DNS, probes, exec, port-forward and webhooks are real.
//!
//! Everything of one cluster lives in namespaces without a name (network, mounts, processes) that
//! one process holds. When that ends, for whatever reason, the kernel ends every pod and removes
//! every mount and link, and the guardian removes what is left: control groups and files. Several
//! clusters run side by side; none changes a setting of the machine.

mod allowed;
mod cgroup;
mod control;
mod credentials;
mod dns;
mod info;
mod link;
mod namespace;
mod node;
mod process;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use kube::Client;

pub use info::RealClusterInfo;
pub use process::RealClusterProcess;

use crate::broker::{Order, Wanted};
use crate::image::Image;
use crate::lease::Lease;
use crate::part::print_tail;

/// A running cluster with a real node, gone when dropped.
#[derive(Debug)]
pub struct RealCluster {
    info: RealClusterInfo,
    lease: Lease,
}

impl RealCluster {
    /// Whether this machine can run one; if not, why.
    pub fn allowed() -> Result<(), String> {
        allowed::allowed()
    }

    /// Leases one, and waits until its node is ready and its DNS answers. The node bears its name.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        crate::init();
        let (lease, info) = Lease::take(Wanted::RealCluster { name: name.to_owned() }).await?;
        Ok(Self { info, lease })
    }

    /// What is to know about it.
    pub fn info(&self) -> &RealClusterInfo {
        &self.info
    }

    /// An administrator's kubeconfig with embedded data only.
    pub fn kubeconfig(&self) -> String {
        self.info.kubeconfig.clone()
    }

    /// An administrator's client. It belongs to the runtime that made it.
    pub async fn client(&self) -> anyhow::Result<Client> {
        self.info.client().await
    }

    /// The node's address, where its API server and node ports answer.
    pub fn address(&self) -> Ipv4Addr {
        self.info.address
    }

    /// The logs of its parts, by name.
    pub fn logs(&self) -> &BTreeMap<String, PathBuf> {
        &self.info.logs
    }

    /// Where its API server writes down every write of a pod's account: an `audit.k8s.io/v1` Event a line.
    pub fn audit_log(&self) -> PathBuf {
        self.info.directory.join("credentials/audit.log")
    }

    /// Makes an image known to its node, so that pods can use it.
    pub async fn load_image(&self, image: &Image) -> anyhow::Result<()> {
        self.info.load_image(image).await
    }

    /// Ends the kubelet and starts it again, as a node's update would; pods keep running.
    pub async fn restart_kubelet(&self) -> anyhow::Result<()> {
        self.lease.order(Order::RestartKubelet).await
    }

    /// Ends it and waits until nothing of it is left.
    pub async fn stop(self) {
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for RealCluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (name, log) in &self.info.logs {
                print_tail(name, log);
            }
        }
    }
}
