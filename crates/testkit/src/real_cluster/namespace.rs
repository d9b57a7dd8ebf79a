//! The namespaces that hold everything of one cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::Program;

use crate::guardian::guardian;
use crate::part::{Part, PartBuilder};
use crate::wait::until;

/// Settings of the kernel that a kubelet writes at its start, with what it wants. They are the
/// whole machine's, so inside the namespaces files of ours lie over them.
const SETTINGS: &[(&str, &str)] = &[
    ("kernel/keys/root_maxbytes", "25000000"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
];

/// Furnishes the namespaces; `$1` is the cluster's directory and `$2` the guardian.
///
/// Mounts are shared among the cluster's own processes, so that a volume mounted later is seen by
/// containers that run. `/run`, `/var/log` and `/var/lib` are the cluster's own: containerd, the
/// kubelet and the network plugins insist on writing there. `mount -n` itself writes nothing.
///
/// A connection that its process left open holds the network, and with it the link, until its other
/// end has answered: one try is enough, since most often that end was a pod that is gone.
const FURNISH: &str = r#"
mount -n --make-rshared /
mount -n -t tmpfs -o mode=755 slipway /run
mount -n --bind "$1/var-log" /var/log
mkdir -p /run/slipway/lib /run/slipway/work
case "$1" in
    /var/lib/*) ;; # What is written there must be seen from outside.
    *) mount -n -t overlay slipway -o lowerdir=/var/lib,upperdir=/run/slipway/lib,workdir=/run/slipway/work /var/lib || true ;;
esac
(cd "$1/settings" && find . -type f) | while read -r setting; do
    [ ! -e "/proc/sys/$setting" ] || mount -n --bind "$1/settings/$setting" "/proc/sys/$setting"
done
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv4/tcp_orphan_retries
echo 1 > /proc/sys/net/ipv4/tcp_fin_timeout
if mount -n -t overlay slipway -o "lowerdir=$1/try/a,upperdir=$1/try/b,workdir=$1/try/c" "$1/try/d"; then
    umount -n "$1/try/d"
    echo overlay
fi
echo held
exec "$2" --hold
"#;

/// Namespaces for network, mounts and processes, and the process that holds them.
#[derive(Debug)]
pub(super) struct Namespace {
    holder: Part,
    nsenter: PathBuf,
    overlay: bool,
}

impl Namespace {
    /// Makes them. When they go, the control group `cgroup` goes too.
    pub(super) async fn start(directory: &Path, cgroup: &str) -> anyhow::Result<Self> {
        for (setting, value) in SETTINGS {
            let file = directory.join("settings").join(setting);
            fs::create_dir_all(file.parent().context("a setting has a directory")?)?;
            fs::write(file, format!("{value}\n"))?;
        }
        for name in ["try/a", "try/b", "try/c", "try/d", "var-log"] {
            fs::create_dir_all(directory.join(name))?;
        }
        let holder = Part::builder("namespaces", Program::Unshare.find()?)
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-euc", FURNISH, "furnish"])
            .arg(directory)
            .arg(guardian()?)
            // The first process of a process namespace heeds nothing else from outside.
            .stop_signal("KILL")
            .remove_cgroup_on_exit(cgroup)
            .log_file(directory.join("logs/namespaces.log"))
            .start()?;
        until("the namespaces to be furnished", Duration::from_secs(20), async || {
            (holder.log().lines().any(|line| line == "held") || !holder.is_running()).then_some(())
        })
        .await?;
        let log = holder.log();
        if !holder.is_running() {
            bail!("the namespaces cannot be furnished: {}", log.trim());
        }
        let overlay = log.lines().any(|line| line == "overlay");
        Ok(Self { holder, nsenter: Program::Nsenter.find()?, overlay })
    }

    /// A process of this machine that is in the network and mount namespaces.
    pub(super) fn pid(&self) -> u32 {
        self.holder.pid()
    }

    /// Whether file systems can be laid over each other; else containers are copied.
    pub(super) fn overlay(&self) -> bool {
        self.overlay
    }

    /// A program to be run inside.
    pub(super) fn enter(&self, name: &str, program: impl AsRef<Path>) -> PartBuilder {
        Part::builder(name, &self.nsenter).args(self.entrance()).arg("--").arg(program.as_ref())
    }

    /// A command to be run inside that ends soon by itself.
    pub(super) fn command(&self, program: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.nsenter);
        command.args(self.entrance()).arg("--").arg(program);
        command
    }

    fn entrance(&self) -> [String; 3] {
        let of = |kind: &str| format!("/proc/{}/ns/{kind}", self.pid());
        [
            format!("--net={}", of("net")),
            format!("--mount={}", of("mnt")),
            format!("--pid={}", of("pid_for_children")),
        ]
    }

    /// Ends every process inside, and with them the namespaces.
    pub(super) async fn stop(self) {
        self.holder.stop().await;
    }
}
