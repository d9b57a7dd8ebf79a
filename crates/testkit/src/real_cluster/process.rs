//! The processes of one real cluster.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::http::Request;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use super::control::{self, API_SERVER_PORT};
use super::credentials::Credentials;
use super::info::{RealClusterInfo, import};
use super::link::Link;
use super::namespace::Namespace;
use super::{cgroup, dns, node};
use crate::image::Image;
use crate::kubeconfig;
use crate::part::{Part, PartBuilder, print_tail};
use crate::scratch::{Scratch, scratch, scratch_file};
use crate::wait::until;

/// How long any one step of a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The processes of a cluster with a real node; all end with this value.
#[derive(Debug)]
pub struct RealClusterProcess {
    info: RealClusterInfo,
    /// First to go: with it, the kernel ends everything else.
    namespace: Namespace,
    link: Link,
    parts: BTreeMap<String, Part>,
    _directory: Scratch,
}

impl RealClusterProcess {
    /// Starts them and waits until the node is ready and DNS answers.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        let directory = scratch("real")?;
        let logs = directory.path().join("logs");
        fs::create_dir(&logs)?;
        let started = Self::start_in(name, directory).await;
        if started.is_err() {
            // The caller only sees the error; the reason is mostly in a log, and those go with the directory.
            for log in fs::read_dir(&logs).into_iter().flatten().flatten() {
                print_tail(&log.file_name().to_string_lossy(), &log.path());
            }
        }
        started.with_context(|| format!("starting the real cluster {name}"))
    }

    async fn start_in(name: &str, directory: Scratch) -> anyhow::Result<Self> {
        let path = directory.path().to_owned();
        let id = identity(&path);
        let namespace = Namespace::start(&path, &id).await?;
        cgroup::make(&id)?;
        let link = Link::connect(&namespace).await?;
        let server = format!("https://{}:{API_SERVER_PORT}", link.node);
        let credentials = Credentials::issue(path.join("credentials"), name, &link, &server)?;
        let info = RealClusterInfo {
            id,
            node: name.to_owned(),
            address: link.node,
            host_address: link.host,
            link: link.name.clone(),
            server,
            kubeconfig: credentials.administrator.clone(),
            logs: BTreeMap::new(),
            containerd: node::containerd_socket(&path),
            directory: path.clone(),
        };
        let client = kubeconfig::client(&info.kubeconfig).await?;
        let mut process =
            Self { info, namespace, link: link.clone(), parts: BTreeMap::new(), _directory: directory };
        process.run("etcd", control::etcd(&process.namespace, &path)?)?;
        process.run("containerd", node::containerd(&process.namespace, &path)?)?;
        process.etcd().await?;
        process.run("kube-apiserver", control::api_server(&process.namespace, &link, &credentials)?)?;
        tokio::try_join!(process.images(), process.api_server(&client))?;
        process
            .run("kube-controller-manager", control::controller_manager(&process.namespace, &credentials)?)?;
        process.run("kube-scheduler", control::scheduler(&process.namespace, &credentials)?)?;
        let cgroup = process.info.id.clone();
        process
            .run("kubelet", node::kubelet(&process.namespace, name, &link, &credentials, &path, &cgroup)?)?;
        process.run("kube-proxy", node::proxy(&process.namespace, name, &credentials)?)?;
        dns::install(&client).await?;
        process.usable(&client).await?;
        Ok(process)
    }

    /// What is to know about it.
    pub fn info(&self) -> &RealClusterInfo {
        &self.info
    }

    /// Makes the image in an OCI archive known to the node.
    pub async fn load_image(&self, archive: &Path) -> anyhow::Result<()> {
        self.info.load_archive(archive).await
    }

    /// Ends the kubelet and starts it again; pods keep running.
    pub async fn restart_kubelet(&mut self) -> anyhow::Result<()> {
        let kubelet = self.parts.remove("kubelet").context("the kubelet does not run")?;
        self.parts.insert("kubelet".to_owned(), kubelet.restart().await?);
        self.port("kubelet", node::KUBELET_HEALTH_PORT).await
    }

    /// Ends everything and waits until nothing is left.
    pub async fn stop(self) {
        self.namespace.stop().await;
        // All of these are dead by now.
        for part in self.parts.into_values() {
            part.stop().await;
        }
        self.link.gone().await;
    }

    fn run(&mut self, name: &str, part: PartBuilder) -> anyhow::Result<()> {
        let log = self.info.directory.join(format!("logs/{name}.log"));
        self.parts.insert(name.to_owned(), part.log_file(&log).start()?);
        self.info.logs.insert(name.to_owned(), log);
        Ok(())
    }

    /// Looks until there is something, and gives up as soon as a part has ended.
    async fn until<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> anyhow::Result<T> {
        until(what, PATIENCE, || {
            let looked = self.all_run().map(|()| look());
            async {
                match looked {
                    Ok(looked) => looked.await.map(Ok),
                    Err(error) => Some(Err(error)),
                }
            }
        })
        .await?
    }

    fn all_run(&self) -> anyhow::Result<()> {
        let Some((name, part)) = self.parts.iter().find(|(_, part)| !part.is_running()) else {
            return Ok(());
        };
        let log = part.log();
        bail!("{name} ended: {}", log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default())
    }

    async fn port(&self, name: &str, port: u16) -> anyhow::Result<()> {
        let address = (self.info.address, port);
        self.until(&format!("{name} to listen"), async || TcpStream::connect(address).await.ok().map(drop))
            .await
    }

    /// Nobody outside can ask etcd itself, so that pods cannot either.
    async fn etcd(&self) -> anyhow::Result<()> {
        let etcd = self.parts.get("etcd").context("etcd does not run")?;
        self.until("etcd to serve", async || {
            etcd.log().contains("ready to serve client requests").then_some(())
        })
        .await
    }

    async fn api_server(&self, client: &Client) -> anyhow::Result<()> {
        self.until("the API server to be ready", async || {
            let request = Request::get("/readyz").body(Vec::new()).ok()?;
            client.request_text(request).await.ok().map(drop)
        })
        .await
    }

    /// Loads the images that every cluster needs.
    async fn images(&self) -> anyhow::Result<()> {
        static ARCHIVES: OnceCell<[PathBuf; 2]> = OnceCell::const_new();
        let archives = ARCHIVES
            .get_or_try_init(|| async {
                let write = |image: Image, name: &str| {
                    let path = scratch_file(name)?;
                    image.write(&path).map(|_| path)
                };
                tokio::task::spawn_blocking(move || {
                    anyhow::Ok([
                        write(node::sandbox_image()?, "sandbox.tar")?,
                        write(dns::image()?, "coredns.tar")?,
                    ])
                })
                .await?
            })
            .await?;
        let socket = &self.info.containerd;
        self.until("containerd to listen", async || {
            tokio::net::UnixStream::connect(socket).await.ok().map(drop)
        })
        .await?;
        for archive in archives {
            import(socket, archive).await?;
        }
        Ok(())
    }

    /// Waits until a pod can be created, runs and finds others by name.
    async fn usable(&self, client: &Client) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(client.clone());
        self.until("the node to be ready", async || {
            let node = nodes.get(&self.info.node).await.ok()?;
            let tainted = node.spec.and_then(|spec| spec.taints).is_some_and(|taints| !taints.is_empty());
            let ready = node.status?.conditions?.iter().any(|it| it.type_ == "Ready" && it.status == "True");
            (ready && !tainted).then_some(())
        })
        .await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        self.until("the default ServiceAccount", async || accounts.get("default").await.ok().map(drop))
            .await?;
        self.until("DNS to answer", async || dns::is_ready(client).await.then_some(())).await
    }
}

/// A name that nothing else on this machine has: that of the directory, which is its own.
fn identity(directory: &Path) -> String {
    let names: Vec<_> = directory.iter().rev().take(2).filter_map(|name| name.to_str()).collect();
    names.into_iter().rev().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_by_its_directory() {
        assert_eq!(identity(Path::new("/tmp/slipway-AbC123/4-real")), "slipway-AbC123-4-real");
    }
}
