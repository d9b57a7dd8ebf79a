//! The processes of one control plane.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use slipway_programs::Program;

use super::etcd::Etcd;
use crate::certificates::{Authority, Pair, signing_key};
use crate::kubeconfig;
use crate::kwok;
use crate::part::{Part, PartBuilder};
use crate::scratch::{Scratch, scratch};
use crate::wait::{free_port, until};

/// How a control plane is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ControlPlaneOptions {
    /// How many kwok nodes it has.
    pub nodes: u32,
    /// Whether it has an etcd of its own, for tests that harm it.
    pub own_etcd: bool,
    /// Further arguments of its API server.
    pub api_server_arguments: Vec<String>,
}

/// What a user of a control plane must know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ControlPlaneInfo {
    /// The API server's address.
    pub server: String,
    /// An administrator's kubeconfig with embedded data only.
    pub kubeconfig: String,
    /// The logs of its parts, by name.
    pub logs: BTreeMap<String, PathBuf>,
    /// Where its etcd's clients connect.
    pub etcd: String,
}

/// A running control plane: API server, controller manager, scheduler and perhaps kwok.
pub struct ControlPlaneProcess {
    parts: BTreeMap<String, Part>,
    /// How to start each part again after it ended.
    builders: BTreeMap<String, PartBuilder>,
    info: ControlPlaneInfo,
    client: Client,
    kubeconfig: PathBuf,
    directory: Scratch,
    _etcd: Arc<Etcd>,
}

impl ControlPlaneProcess {
    /// Starts one on an etcd, below a prefix that nobody else uses.
    pub async fn start(etcd: Arc<Etcd>, prefix: &str, options: &ControlPlaneOptions) -> anyhow::Result<Self> {
        let mut last = None;
        for attempt in 0..4 {
            match Self::try_start(Arc::clone(&etcd), &format!("/{prefix}-{attempt}"), options).await {
                Ok(process) => return Ok(process),
                // Most likely another process took its port first.
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("the control plane was never tried")?)
    }

    async fn try_start(etcd: Arc<Etcd>, prefix: &str, options: &ControlPlaneOptions) -> anyhow::Result<Self> {
        let directory = scratch("cp")?;
        let files = Files::write(directory.path())?;
        let port = free_port();
        let server = format!("https://127.0.0.1:{port}");
        let text = kubeconfig::with_certificate(&server, files.authority.certificate(), &files.admin);
        let kubeconfig = directory.path().join("kubeconfig");
        fs::write(&kubeconfig, &text)?;
        let client = kubeconfig::client(&text).await?;

        let path = |name: &str| directory.path().join(name);
        let api_server = Part::builder("kube-apiserver", Program::KubeApiserver.find()?)
            .arg(format!("--etcd-servers={}", etcd.url()))
            .arg(format!("--etcd-prefix={prefix}"))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={port}"))
            .arg(format!("--client-ca-file={}", path("ca.crt").display()))
            .arg(format!("--tls-cert-file={}", path("apiserver.crt").display()))
            .arg(format!("--tls-private-key-file={}", path("apiserver.key").display()))
            .arg(format!("--service-account-key-file={}", path("sa.pub").display()))
            .arg(format!("--service-account-signing-key-file={}", path("sa.key").display()))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg("--authorization-mode=RBAC")
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .arg("--allow-privileged")
            // Its own address is not one that pods could reach; no endpoints need keeping.
            .arg("--endpoint-reconciler-type=none")
            // New nodes would be tainted until the controller that is switched off below has seen them.
            .arg("--disable-admission-plugins=TaintNodesByCondition")
            .arg(format!("--cert-dir={}", directory.path().display()))
            .args(&options.api_server_arguments)
            .stop_signal("KILL")
            .log_file(path("kube-apiserver.log"));
        let controller_manager =
            Part::builder("kube-controller-manager", Program::KubeControllerManager.find()?)
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg(format!("--service-account-private-key-file={}", path("sa.key").display()))
                .arg(format!("--root-ca-file={}", path("ca.crt").display()))
                .args(["--secure-port=0", "--leader-elect=false"])
                // kwok's heartbeats may come late on a busy machine, and every pod would count as lost.
                .arg("--controllers=*,-node-lifecycle-controller")
                .args(["--kube-api-qps=2000", "--kube-api-burst=4000"])
                .args(["--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20"])
                .args(["--concurrent-gc-syncs=40", "--concurrent-namespace-syncs=20"])
                .stop_signal("KILL")
                .log_file(path("kube-controller-manager.log"));
        let scheduler = Part::builder("kube-scheduler", Program::KubeScheduler.find()?)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(["--secure-port=0", "--leader-elect=false"])
            .args(["--kube-api-qps=2000", "--kube-api-burst=4000"])
            .stop_signal("KILL")
            .log_file(path("kube-scheduler.log"));
        let builders: BTreeMap<_, _> = [
            ("kube-apiserver", api_server),
            ("kube-controller-manager", controller_manager),
            ("kube-scheduler", scheduler),
        ]
        .map(|(name, builder)| (name.to_owned(), builder))
        .into();

        let mut process = Self {
            parts: BTreeMap::new(),
            builders,
            info: ControlPlaneInfo {
                server,
                kubeconfig: text,
                logs: BTreeMap::new(),
                etcd: etcd.url().to_owned(),
            },
            client,
            kubeconfig,
            directory,
            _etcd: etcd,
        };
        process.start_part("kube-apiserver")?;
        process.api_server_ready().await?;
        process.start_part("kube-controller-manager")?;
        process.start_part("kube-scheduler")?;
        process.controllers_ready().await?;
        if options.nodes > 0 {
            process.add_nodes(options.nodes).await?;
        }
        Ok(process)
    }

    /// Waits until the API server answers and its own start-up work is done.
    pub async fn api_server_ready(&self) -> anyhow::Result<()> {
        let Some(part) = self.parts.get("kube-apiserver") else { bail!("the API server is not running") };
        let ready = until("the API server to be ready", Duration::from_mins(2), async || {
            if !part.is_running() {
                return Some(false);
            }
            let request = http::Request::get("/readyz").body(Vec::new()).ok()?;
            self.client.request_text(request).await.ok().map(|_| true)
        })
        .await?;
        if !ready {
            bail!("the API server ended: {}", part.log().lines().last().unwrap_or_default());
        }
        Ok(())
    }

    /// Waits for the first thing that pods need and the controller manager makes.
    async fn controllers_ready(&self) -> anyhow::Result<()> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), "default");
        until("the default ServiceAccount", Duration::from_mins(1), async || {
            accounts.get_opt("default").await.ok().flatten().map(|_| ())
        })
        .await
    }

    /// Adds kwok with this many nodes.
    pub async fn add_nodes(&mut self, nodes: u32) -> anyhow::Result<()> {
        let kwok = kwok::start(&self.client, self.directory.path(), &self.kubeconfig, nodes).await?;
        self.info.logs.insert("kwok".into(), kwok.log_path().to_owned());
        self.builders.insert("kwok".into(), kwok.again());
        self.parts.insert("kwok".into(), kwok);
        Ok(())
    }

    /// Starts a part that is not running.
    pub fn start_part(&mut self, name: &str) -> anyhow::Result<()> {
        let builder =
            self.builders.get(name).with_context(|| format!("a control plane has no part {name}"))?;
        self.parts.remove(name);
        let part = builder.clone().start()?;
        self.info.logs.insert(name.to_owned(), part.log_path().to_owned());
        self.parts.insert(name.to_owned(), part);
        Ok(())
    }

    /// A running part, by its name.
    pub fn part(&self, name: &str) -> anyhow::Result<&Part> {
        self.parts.get(name).with_context(|| format!("{name} is not running"))
    }

    /// What its users must know.
    pub fn info(&self) -> &ControlPlaneInfo {
        &self.info
    }
}

impl std::fmt::Debug for ControlPlaneProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ControlPlaneProcess")
            .field("server", &self.info.server)
            .finish_non_exhaustive()
    }
}

/// The certificates and keys of a control plane.
struct Files {
    authority: Authority,
    admin: Pair,
}

impl Files {
    fn write(directory: &Path) -> anyhow::Result<Self> {
        let authority = Authority::new("slipway-testkit")?;
        fs::write(directory.join("ca.crt"), authority.certificate())?;
        authority
            .server("kube-apiserver", &["localhost", "kubernetes.default.svc", "127.0.0.1", "10.96.0.1"])?
            .write(directory, "apiserver")?;
        let (private, public) = signing_key()?;
        fs::write(directory.join("sa.key"), private)?;
        fs::write(directory.join("sa.pub"), public)?;
        let admin = authority.client("admin", &["system:masters"])?;
        Ok(Self { authority, admin })
    }
}
