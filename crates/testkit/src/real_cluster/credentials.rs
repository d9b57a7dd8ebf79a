//! Who is who in a real cluster: its certificates, keys and kubeconfigs.

use std::fs;
use std::path::{Path, PathBuf};

use super::link::Link;
use crate::certificates::{Authority, signing_key};
use crate::kubeconfig;

/// The API server's address inside, the first of the network of Services.
const API_SERVER_SERVICE: &str = "10.96.0.1";

/// What the API server writes down of whom: every write of a pod's account.
const AUDIT: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: [system:serviceaccounts]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
";

/// The files of a cluster's identities.
#[derive(Debug)]
pub(super) struct Credentials {
    directory: PathBuf,
    pub(super) administrator: String,
}

impl Credentials {
    /// Issues all of them.
    pub(super) fn issue(directory: PathBuf, node: &str, link: &Link, server: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(&directory)?;
        let authority = Authority::new("slipway-test")?;
        let address = link.node.to_string();
        fs::write(directory.join("authority.crt"), authority.certificate())?;
        let names = [
            &address,
            API_SERVER_SERVICE,
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        authority.server("kube-apiserver", &names)?.write(&directory, "apiserver")?;
        authority
            .client("kube-apiserver-kubelet-client", &["system:masters"])?
            .write(&directory, "kubelet-client")?;
        authority.client("front-proxy-client", &[])?.write(&directory, "front-proxy")?;
        let kubelet = authority.peer(&format!("system:node:{node}"), &["system:nodes"], &[node, &address])?;
        kubelet.write(&directory, "kubelet")?;
        fs::write(directory.join("audit.yaml"), AUDIT)?;
        let (private, public) = signing_key()?;
        fs::write(directory.join("tokens.key"), private)?;
        fs::write(directory.join("tokens.pub"), public)?;

        let of = |pair| kubeconfig::with_certificate(server, authority.certificate(), &pair);
        let administrator = of(authority.client("administrator", &["system:masters"])?);
        for (name, kubeconfig) in [
            ("administrator", administrator.clone()),
            // One identity for all controllers: a token for each would only cost time.
            (
                "controller-manager",
                of(authority.client("system:kube-controller-manager", &["system:masters"])?),
            ),
            ("scheduler", of(authority.client("system:kube-scheduler", &[])?)),
            ("proxy", of(authority.client("system:kube-proxy", &[])?)),
            ("kubelet", of(kubelet)),
        ] {
            fs::write(directory.join(format!("{name}.kubeconfig")), kubeconfig)?;
        }
        Ok(Self { directory, administrator })
    }

    /// An argument that names one of the files, such as `--tls-cert-file=…/apiserver.crt`.
    pub(super) fn argument(&self, option: &str, file: &str) -> String {
        format!("--{option}={}", self.file(file).display())
    }

    /// One of the files.
    pub(super) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.join(name)
    }
}
