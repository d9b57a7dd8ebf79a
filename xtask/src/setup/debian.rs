//! What comes from the distribution's packages.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::{DEBIAN_PACKAGES, postgres_directory};

use crate::progress::Progress;

/// The names of the packages that this machine lacks.
pub(crate) fn missing() -> Vec<&'static str> {
    let mut missing: Vec<_> = DEBIAN_PACKAGES
        .iter()
        .filter(|package| !package.files.iter().all(|file| is_there(file)))
        .map(|package| package.name)
        .collect();
    if postgres_directory().is_err() {
        missing.push("postgresql");
    }
    missing
}

/// Whether a program is along `PATH` or in an administrator's directory, or a file exists.
fn is_there(file: &str) -> bool {
    if file.starts_with('/') {
        return Path::new(file).exists();
    }
    let own = match file {
        "chromium" => env::var_os("CHROMIUM"),
        "chromedriver" => env::var_os("CHROMEDRIVER"),
        "docker-registry" => env::var_os("SLIPWAY_REGISTRY"),
        "busybox" => env::var_os("SLIPWAY_BUSYBOX"),
        _ => None,
    };
    let path = env::var_os("PATH").unwrap_or_default();
    own.is_some_and(|own| Path::new(&own).is_file())
        || env::split_paths(&path)
            .chain(["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"].map(Into::into))
            .any(|directory| directory.join(file).is_file())
}

/// Installs packages; without root it says what to install instead.
pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !is_there("apt-get") {
        bail!("these programs are missing, and this machine has no apt-get to install them: {list}");
    }
    if !rustix::process::getuid().is_root() {
        bail!(
            "some packages are missing; install them with: sudo apt-get install -y --no-install-recommends {list}"
        );
    }
    let progress = Progress::start(&format!("packages: {list}"), Some(Duration::from_secs(90)));
    let quiet = Services::keep_from_starting();
    apt_get(&["update", "-qq"])?;
    let installing: Vec<&str> = ["install", "-qq", "-y", "--no-install-recommends"]
        .into_iter()
        .chain(packages.iter().copied())
        .collect();
    apt_get(&installing)?;
    drop(quiet);
    progress.done();
    Ok(())
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("apt-get")
        // Another apt-get may be at work; it ends.
        .args(["-o", "DPkg::Lock::Timeout=300"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("running apt-get")?;
    if !output.status.success() {
        let words = arguments.join(" ");
        bail!("apt-get {words} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Keeps packages from starting servers of their own while they are installed.
struct Services {
    policy: Option<&'static Path>,
}

impl Services {
    fn keep_from_starting() -> Self {
        let policy = Path::new("/usr/sbin/policy-rc.d");
        let written = !policy.exists()
            && fs::write(policy, "#!/bin/sh\nexit 101\n").is_ok()
            && fs::set_permissions(policy, fs::Permissions::from_mode(0o755)).is_ok();
        Self { policy: written.then_some(policy) }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        if let Some(policy) = self.policy {
            let _ = fs::remove_file(policy);
        }
    }
}
