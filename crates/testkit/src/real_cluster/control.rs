//! The control plane of a real cluster: etcd, API server, controller manager, scheduler.

use std::path::Path;

use slipway_programs::Program;

use super::credentials::Credentials;
use super::link::Link;
use super::namespace::Namespace;
use crate::part::PartBuilder;

/// The port of the API server; each cluster has a network of its own.
pub(super) const API_SERVER_PORT: u16 = 6443;
/// Where etcd's only client finds it.
const ETCD: &str = "http://127.0.0.1:2379";
/// The network of Services.
const SERVICES: &str = "10.96.0.0/16";

pub(super) fn etcd(namespace: &Namespace, directory: &Path) -> anyhow::Result<PartBuilder> {
    let peers = "http://127.0.0.1:2380";
    Ok(namespace
        .enter("etcd", Program::Etcd.find()?)
        .arg("--name=etcd")
        .arg(format!("--data-dir={}", directory.join("etcd").display()))
        // Nothing here survives its owner anyway.
        .arg("--unsafe-no-fsync")
        .arg(format!("--listen-client-urls={ETCD}"))
        .arg(format!("--advertise-client-urls={ETCD}"))
        .arg(format!("--listen-peer-urls={peers}"))
        .arg(format!("--initial-advertise-peer-urls={peers}"))
        .arg(format!("--initial-cluster=etcd={peers}")))
}

pub(super) fn api_server(
    namespace: &Namespace,
    link: &Link,
    credentials: &Credentials,
) -> anyhow::Result<PartBuilder> {
    let file = |option, name| credentials.argument(option, name);
    Ok(namespace
        .enter("kube-apiserver", Program::KubeApiserver.find()?)
        .arg(format!("--etcd-servers={ETCD}"))
        .arg(format!("--bind-address={}", link.node))
        .arg(format!("--advertise-address={}", link.node))
        .arg(format!("--secure-port={API_SERVER_PORT}"))
        .arg(format!("--service-cluster-ip-range={SERVICES}"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg("--authorization-mode=Node,RBAC")
        .arg("--enable-admission-plugins=NodeRestriction")
        .arg("--allow-privileged")
        // Else exec, logs and port-forward try to resolve the node's name.
        .arg("--kubelet-preferred-address-types=InternalIP")
        .args([
            file("client-ca-file", "authority.crt"),
            file("tls-cert-file", "apiserver.crt"),
            file("tls-private-key-file", "apiserver.key"),
            file("service-account-key-file", "tokens.pub"),
            file("service-account-signing-key-file", "tokens.key"),
            file("kubelet-client-certificate", "kubelet-client.crt"),
            file("kubelet-client-key", "kubelet-client.key"),
            file("kubelet-certificate-authority", "authority.crt"),
            file("requestheader-client-ca-file", "authority.crt"),
            file("proxy-client-cert-file", "front-proxy.crt"),
            file("proxy-client-key-file", "front-proxy.key"),
            file("audit-policy-file", "audit.yaml"),
            file("audit-log-path", "audit.log"),
        ])
        .args([
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        ]))
}

pub(super) fn controller_manager(
    namespace: &Namespace,
    credentials: &Credentials,
) -> anyhow::Result<PartBuilder> {
    Ok(namespace
        .enter("kube-controller-manager", Program::KubeControllerManager.find()?)
        .args([
            credentials.argument("kubeconfig", "controller-manager.kubeconfig"),
            credentials.argument("service-account-private-key-file", "tokens.key"),
            credentials.argument("root-ca-file", "authority.crt"),
        ])
        .args(["--bind-address=127.0.0.1", "--leader-elect=false"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]))
}

pub(super) fn scheduler(namespace: &Namespace, credentials: &Credentials) -> anyhow::Result<PartBuilder> {
    Ok(namespace
        .enter("kube-scheduler", Program::KubeScheduler.find()?)
        .arg(credentials.argument("kubeconfig", "scheduler.kubeconfig"))
        .args(["--bind-address=127.0.0.1", "--leader-elect=false"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]))
}
