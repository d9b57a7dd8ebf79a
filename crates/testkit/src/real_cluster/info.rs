//! What a user of a real cluster must know, fit to be sent to another process.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use kube::Client;
use serde::{Deserialize, Serialize};
use slipway_programs::Program;

use crate::image::Image;
use crate::kubeconfig;
use crate::part::Part;
use crate::scratch::scratch;

/// What a user of a real cluster must know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RealClusterInfo {
    /// What everything of it on this machine is named by.
    pub id: String,
    /// The name of its node.
    pub node: String,
    /// The node's address, where its API server and node ports answer.
    pub address: Ipv4Addr,
    /// This machine's address as its pods see it.
    pub host_address: Ipv4Addr,
    /// The link between this machine and the cluster.
    pub link: String,
    /// The API server's address.
    pub server: String,
    /// An administrator's kubeconfig with embedded data only.
    pub kubeconfig: String,
    /// The logs of its parts, by name.
    pub logs: BTreeMap<String, PathBuf>,
    /// The directory that holds all its files.
    pub directory: PathBuf,
    /// Where containerd listens.
    pub containerd: PathBuf,
}

impl RealClusterInfo {
    /// An administrator's client. It belongs to the runtime that made it.
    pub async fn client(&self) -> anyhow::Result<Client> {
        kubeconfig::client(&self.kubeconfig).await
    }

    /// Makes an image known to the node, so that pods can use it.
    pub async fn load_image(&self, image: &Image) -> anyhow::Result<()> {
        let directory = scratch("image")?;
        let archive = directory.path().join("image.tar");
        let (content, path) = (image.clone(), archive.clone());
        tokio::task::spawn_blocking(move || content.write(path)).await.context("writing an image")??;
        self.load_archive(&archive).await.with_context(|| format!("loading the image {}", image.reference()))
    }

    /// Makes the image in an OCI archive known to the node.
    pub async fn load_archive(&self, archive: &Path) -> anyhow::Result<()> {
        import(&self.containerd, archive).await
    }
}

/// Hands an OCI archive to containerd. Its socket is a file, so that this works from outside its namespaces.
pub(super) async fn import(containerd: &Path, archive: &Path) -> anyhow::Result<()> {
    Part::builder("ctr", Program::Ctr.find()?)
        .arg("--address")
        .arg(containerd)
        .args(["--namespace", "k8s.io", "images", "import", "--no-unpack=false"])
        .arg(archive)
        .deadline(Duration::from_mins(2))
        .run()
        .await?;
    Ok(())
}
