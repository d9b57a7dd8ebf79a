//! The control group that holds all pods of one cluster, so that clusters do not see each other's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

const ROOT: &str = "/sys/fs/cgroup";

/// Where control groups are made: one place in version 2, one for each controller in version 1.
pub(super) fn hierarchies() -> Vec<PathBuf> {
    let root = PathBuf::from(ROOT);
    if root.join("cgroup.controllers").is_file() {
        return vec![root];
    }
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("cgroup.procs").is_file()).collect()
}

/// Makes a control group in every hierarchy; the kubelet wants its root to exist.
pub(super) fn make(name: &str) -> anyhow::Result<()> {
    let hierarchies = hierarchies();
    ensure!(!hierarchies.is_empty(), "there is nothing below {ROOT}");
    for hierarchy in hierarchies {
        delegate(&hierarchy);
        let group = hierarchy.join(name);
        match fs::create_dir(&group) {
            // Two names of one hierarchy, such as `cpu` and `cpu,cpuacct`.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made.with_context(|| format!("making the control group {}", group.display()))?,
        }
        // Version 1 lets no process into a group that has no processors and no memory.
        for file in ["cpuset.mems", "cpuset.cpus"] {
            if let Ok(value) = fs::read_to_string(hierarchy.join(file))
                && hierarchy.join("cgroup.clone_children").is_file()
            {
                fs::write(group.join(file), value.trim())
                    .with_context(|| format!("setting {file} of {}", group.display()))?;
            }
        }
    }
    Ok(())
}

/// Version 2 gives a group only the controllers that its parent hands down.
fn delegate(hierarchy: &Path) {
    let Ok(controllers) = fs::read_to_string(hierarchy.join("cgroup.controllers")) else { return };
    let file = hierarchy.join("cgroup.subtree_control");
    let given = fs::read_to_string(&file).unwrap_or_default();
    for controller in controllers.split_whitespace() {
        if !given.split_whitespace().any(|known| known == controller) {
            // A controller that the kubelet needs and lacks is named by the kubelet.
            let _ = fs::write(&file, format!("+{controller}"));
        }
    }
}
