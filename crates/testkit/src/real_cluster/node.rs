//! The node of a real cluster: containerd, kubelet, kube-proxy and the network of pods.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use slipway_programs::Program;

use super::credentials::Credentials;
use super::dns;
use super::link::Link;
use super::namespace::Namespace;
use crate::guardian::guardian;
use crate::image::Image;
use crate::part::PartBuilder;

/// Where the machine keeps network plugins.
pub(super) const PLUGINS: &str = "/usr/lib/cni";
/// Where the kubelet says whether it is well.
pub(super) const KUBELET_HEALTH_PORT: u16 = 10248;
/// The network of pods. It is the cluster's own, so that it can be the same in all.
const PODS: &str = "10.244.0.0/24";
/// What keeps a pod's namespaces.
const SANDBOX: &str = "localhost/slipway/sandbox:1";

/// The image that keeps a pod's namespaces: the guardian reaps there as it does in a cluster's.
pub(super) fn sandbox_image() -> anyhow::Result<Image> {
    let sandbox = Image::builder(SANDBOX).program(guardian()?)?;
    Ok(sandbox.entrypoint(["/usr/local/bin/guardian", "--hold"]).build())
}

pub(super) fn containerd_socket(directory: &Path) -> PathBuf {
    directory.join("containerd.sock")
}

pub(super) fn containerd(namespace: &Namespace, directory: &Path) -> anyhow::Result<PartBuilder> {
    let networks = directory.join("networks");
    fs::create_dir_all(&networks)?;
    fs::write(networks.join("10-pods.conflist"), network(directory).to_string())?;
    let config = directory.join("containerd.toml");
    let snapshotter = if namespace.overlay() { "overlayfs" } else { "native" };
    fs::write(&config, containerd_config(directory, &networks, snapshotter))?;
    Ok(namespace
        .enter("containerd", Program::Containerd.find()?)
        .env("PATH", search_path()?)
        .arg("--config")
        .arg(config))
}

/// Pods are reached by routes rather than a bridge, so that an answer from a pod to a pod passes
/// the rules of Services also where the kernel does not show bridged packets to them.
fn network(directory: &Path) -> serde_json::Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": true,
                "ipam": {
                    "type": "host-local",
                    "dataDir": directory.join("addresses"),
                    "ranges": [[{"subnet": PODS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
}

fn containerd_config(directory: &Path, networks: &Path, snapshotter: &str) -> String {
    let directory = directory.display();
    let networks = networks.display();
    // Without restrict_oom_score_adj every pod fails where root lacks CAP_SYS_RESOURCE.
    format!(
        r#"version = 3
root = "{directory}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
address = "{directory}/containerd.sock"

[plugins.'io.containerd.internal.v1.opt']
path = "{directory}/opt"

[plugins.'io.containerd.cri.v1.images']
snapshotter = "{snapshotter}"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{SANDBOX}"

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["{PLUGINS}"]
conf_dir = "{networks}"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
"#
    )
}

pub(super) fn kubelet(
    namespace: &Namespace,
    name: &str,
    link: &Link,
    credentials: &Credentials,
    directory: &Path,
    cgroup: &str,
) -> anyhow::Result<PartBuilder> {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": link.node,
        "readOnlyPort": 0,
        "healthzBindAddress": link.node,
        "healthzPort": KUBELET_HEALTH_PORT,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{cgroup}"),
        "failSwapOn": false,
        "failCgroupV1": false,
        "containerRuntimeEndpoint": format!("unix://{}", containerd_socket(directory).display()),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": credentials.file("authority.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": credentials.file("kubelet.crt"),
        "tlsPrivateKeyFile": credentials.file("kubelet.key"),
        "podCIDR": PODS,
        "clusterDomain": dns::DOMAIN,
        "clusterDNS": [dns::ADDRESS],
        "resolvConf": "",
        // A machine that others fill must not evict a test's pods, nor lose images nobody can pull again.
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
        "volumePluginDir": directory.join("volume-plugins"),
        "podLogsDir": "/var/log/pods",
    });
    let file = directory.join("kubelet.json");
    fs::write(&file, config.to_string())?;
    let root = directory.join("kubelet");
    Ok(namespace
        .enter("kubelet", Program::Kubelet.find()?)
        .env("PATH", search_path()?)
        .arg(format!("--config={}", file.display()))
        .arg(credentials.argument("kubeconfig", "kubelet.kubeconfig"))
        .arg(format!("--root-dir={}", root.display()))
        .arg(format!("--cert-dir={}", root.join("pki").display()))
        .arg(format!("--hostname-override={name}"))
        .arg(format!("--node-ip={}", link.node)))
}

pub(super) fn proxy(
    namespace: &Namespace,
    name: &str,
    credentials: &Credentials,
) -> anyhow::Result<PartBuilder> {
    Ok(namespace
        .enter("kube-proxy", Program::KubeProxy.find()?)
        .env("PATH", search_path()?)
        .arg(credentials.argument("kubeconfig", "proxy.kubeconfig"))
        .arg(format!("--hostname-override={name}"))
        .arg(format!("--cluster-cidr={PODS}"))
        .args(["--proxy-mode=iptables", "--iptables-min-sync-period=100ms"])
        // The limit on tracked connections is the whole machine's.
        .args(["--conntrack-max-per-core=0", "--conntrack-min=0"])
        .args(["--metrics-bind-address=127.0.0.1:10249", "--healthz-bind-address=127.0.0.1:10256"]))
}

/// Where a node's programs find what they call: the shim beside containerd, then the administrator's.
pub(super) fn search_path() -> anyhow::Result<OsString> {
    let containerd = Program::Containerd.find()?;
    let beside = containerd.parent().context("containerd is in no directory")?.to_owned();
    let user = env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let all = std::iter::once(beside).chain(administrators).chain(env::split_paths(&user));
    env::join_paths(all).context("a directory of PATH holds a colon")
}
