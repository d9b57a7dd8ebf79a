//! Whether this machine can run real nodes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use slipway_programs::Program;

use super::cgroup;
use super::node::{PLUGINS, search_path};

const PROGRAMS: &[Program] = &[
    Program::Containerd,
    Program::CoreDns,
    Program::Ctr,
    Program::Etcd,
    Program::Ip,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::KubeProxy,
    Program::KubeScheduler,
    Program::Kubelet,
    Program::Nsenter,
    Program::Runc,
    Program::Unshare,
];

/// What a cluster's namespaces must allow, tried in namespaces that are gone right after.
const ATTEMPT: &str = "
    mount -n -t tmpfs slipway /run
    ip link add slipway0 type veth peer name slipway1
    iptables -t nat -A OUTPUT -p tcp -m comment --comment slipway -j ACCEPT
";

/// Asked once: the machine does not change while a process runs.
pub(super) fn allowed() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(look).clone()
}

fn look() -> Result<(), String> {
    if !rustix::process::getuid().is_root() {
        return Err("a real node needs root".to_owned());
    }
    for program in PROGRAMS {
        program.find().map_err(|missing| missing.to_string())?;
    }
    for plugin in ["host-local", "loopback", "portmap", "ptp"] {
        if !Path::new(PLUGINS).join(plugin).is_file() {
            return Err(format!(
                "the network plugin {plugin} is not in {PLUGINS}; get it with: cargo xtask setup"
            ));
        }
    }
    let unshare = Program::Unshare.find().map_err(|missing| missing.to_string())?;
    let output = Command::new(unshare)
        .env("PATH", search_path().map_err(|error| format!("{error:#}"))?)
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-euc", ATTEMPT])
        .output()
        .map_err(|error| format!("cannot make namespaces: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(format!("namespaces here do not allow what a node needs: {said}"));
    }
    let group = format!("slipway-try-{}", std::process::id());
    let made = cgroup::make(&group);
    for hierarchy in cgroup::hierarchies() {
        let _ = fs::remove_dir(hierarchy.join(&group));
    }
    made.map_err(|error| format!("control groups cannot be made: {error:#}"))
}
