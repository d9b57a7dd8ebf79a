//! What a real cluster could leave on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use slipway_testkit::real_cluster::RealClusterInfo;

/// Where to look for a cluster after its end.
pub(crate) struct Trace {
    id: String,
    directory: PathBuf,
    link: PathBuf,
    /// The link's number in the kernel: another cluster may take the name as soon as it is free.
    link_number: String,
}

impl Trace {
    pub(crate) fn of(info: &RealClusterInfo) -> Self {
        let link = Path::new("/sys/class/net").join(&info.link);
        let link_number = fs::read_to_string(link.join("ifindex")).unwrap();
        Self { id: info.id.clone(), directory: info.directory.clone(), link, link_number }
    }

    /// Everything that is there now: processes, pods too, the link, mounts, control groups, files.
    pub(crate) fn remains(&self) -> Vec<String> {
        let mut found = Vec::new();
        let directory = self.directory.to_string_lossy().into_owned();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |file| fs::read(entry.path().join(file)).unwrap_or_default();
            let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let groups = String::from_utf8_lossy(&read("cgroup")).into_owned();
            if command.contains(&directory) || groups.contains(&self.id) {
                found.push(format!("process {}: {command}", entry.file_name().to_string_lossy()));
            }
        }
        if fs::read_to_string(self.link.join("ifindex")).is_ok_and(|number| number == self.link_number) {
            found.push(format!("link {}", self.link.display()));
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        found.extend(
            mounts.lines().filter(|line| line.contains(&directory)).map(|line| format!("mount {line}")),
        );
        let root = Path::new("/sys/fs/cgroup");
        let hierarchies = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
        for group in hierarchies.chain([root.to_owned()]).map(|hierarchy| hierarchy.join(&self.id)) {
            if group.exists() {
                found.push(format!("control group {}", group.display()));
            }
        }
        if self.directory.exists() {
            found.push(format!("directory {directory}"));
        }
        found
    }
}

/// Directories of the machine that containerd, kubelets and network plugins like to fill.
pub(crate) fn host_directories() -> Vec<(&'static str, usize)> {
    [
        "/etc/cni",
        "/opt/containerd",
        "/run/containerd",
        "/run/mount",
        "/var/lib/cni",
        "/var/lib/kubelet",
        "/var/log/pods",
    ]
    .map(|path| (path, fs::read_dir(path).map_or(0, |entries| 1 + entries.count())))
    .into()
}

/// The settings of the machine that a kubelet or a kube-proxy would change.
pub(crate) fn host_settings() -> Vec<(&'static str, String)> {
    [
        "kernel/keys/root_maxbytes",
        "kernel/keys/root_maxkeys",
        "kernel/panic",
        "kernel/panic_on_oops",
        "net/ipv4/ip_forward",
        "net/netfilter/nf_conntrack_max",
        "vm/overcommit_memory",
        "vm/panic_on_oom",
    ]
    .map(|name| (name, fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default()))
    .into()
}
