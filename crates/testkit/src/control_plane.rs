//! A real Kubernetes control plane of a test's own.

mod etcd;
mod process;

use std::fs;
use std::path::PathBuf;

use kube::Client;
use rustix::process::Signal;

pub use etcd::Etcd;
pub use process::{ControlPlaneInfo, ControlPlaneOptions, ControlPlaneProcess};

use crate::broker::{Order, Wanted};
use crate::kubeconfig;
use crate::lease::Lease;
use crate::part::print_tail;
use crate::scratch::{Scratch, scratch};

/// A control plane that nobody else uses, given back when dropped.
#[derive(Debug)]
pub struct ControlPlane {
    info: ControlPlaneInfo,
    files: Scratch,
    lease: Lease,
}

/// How a control plane is wanted.
#[derive(Debug, Clone, Default)]
pub struct ControlPlaneBuilder {
    options: ControlPlaneOptions,
}

impl ControlPlaneBuilder {
    /// With nodes from kwok, so that pods become Ready, or fail as they are told.
    #[must_use]
    pub fn nodes(mut self, count: u32) -> Self {
        self.options.nodes = count;
        self
    }

    /// With an etcd of its own, for tests that harm it.
    #[must_use]
    pub fn own_etcd(mut self) -> Self {
        self.options.own_etcd = true;
        self
    }

    /// With a further argument for its API server.
    #[must_use]
    pub fn api_server_argument(mut self, argument: &str) -> Self {
        self.options.api_server_arguments.push(argument.to_owned());
        self
    }

    /// Leases it.
    pub async fn start(self) -> anyhow::Result<ControlPlane> {
        crate::init();
        let (lease, info): (_, ControlPlaneInfo) = Lease::take(Wanted::ControlPlane(self.options)).await?;
        let files = scratch("kubeconfig")?;
        fs::write(files.path().join("kubeconfig"), &info.kubeconfig)?;
        Ok(ControlPlane { info, files, lease })
    }
}

impl ControlPlane {
    /// One without nodes.
    pub async fn start() -> anyhow::Result<Self> {
        Self::builder().start().await
    }

    /// One that is described first.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder::default()
    }

    /// The API server's address.
    pub fn server(&self) -> &str {
        &self.info.server
    }

    /// An administrator's kubeconfig, with embedded data only.
    pub fn kubeconfig(&self) -> &str {
        &self.info.kubeconfig
    }

    /// The same in a file, for programs such as helm and kubectl.
    pub fn kubeconfig_file(&self) -> PathBuf {
        self.files.path().join("kubeconfig")
    }

    /// An administrator's client. It belongs to the runtime that asks for it.
    pub async fn client(&self) -> anyhow::Result<Client> {
        kubeconfig::client(&self.info.kubeconfig).await
    }

    /// What its processes and places are.
    pub fn info(&self) -> &ControlPlaneInfo {
        &self.info
    }

    /// Kills one of its parts, such as `kube-apiserver`, without warning.
    pub async fn kill(&self, part: &str) -> anyhow::Result<()> {
        self.signal(part, Signal::KILL).await
    }

    /// Sends one of its parts a signal: `STOP` freezes it, `CONT` wakes it.
    pub async fn signal(&self, part: &str, signal: Signal) -> anyhow::Result<()> {
        self.lease.order(Order::Signal { part: part.to_owned(), signal: signal.as_raw() }).await
    }

    /// Starts a part that ended, and waits until it works.
    pub async fn start_part(&self, part: &str) -> anyhow::Result<()> {
        self.lease.order(Order::Start { part: part.to_owned() }).await
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (name, log) in &self.info.logs {
                print_tail(name, log);
            }
        }
    }
}

/// Several control planes side by side.
#[derive(Debug)]
pub struct Fleet {
    /// Its members.
    pub clusters: Vec<ControlPlane>,
}

impl Fleet {
    /// Leases `count` control planes at once, each with `nodes` kwok nodes.
    pub async fn start(count: usize, nodes: u32) -> anyhow::Result<Self> {
        let starting: Vec<_> =
            (0..count).map(|_| tokio::spawn(ControlPlane::builder().nodes(nodes).start())).collect();
        let mut clusters = Vec::with_capacity(count);
        for cluster in starting {
            clusters.push(cluster.await??);
        }
        Ok(Self { clusters })
    }
}
