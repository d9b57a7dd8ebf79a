//! Finding a program: the user's own, the one setup built, the machine's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::recipe::Recipe;

/// A program that tests and tools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the program of that name")]
pub enum Program {
    Busybox,
    Chromedriver,
    Chromium,
    Containerd,
    ControllerRuntimeOperator,
    CoreDns,
    Ctr,
    DockerRegistry,
    Etcd,
    Git,
    Helm3,
    Helm4,
    Ip,
    KubeApiserver,
    KubeControllerManager,
    KubeProxy,
    KubeScheduler,
    Kubectl,
    Kubelet,
    Kwok,
    Node,
    Nsenter,
    Runc,
    Unshare,
}

/// A program that is not on this machine.
#[derive(Debug, thiserror::Error)]
#[error("{program} is not on this machine; get it with: cargo xtask setup")]
pub struct Missing {
    /// What was looked for.
    pub program: String,
}

enum Origin {
    /// Built by the recipe with this name.
    Recipe(&'static str),
    /// One of Kubernetes' own programs, which `KUBEBUILDER_ASSETS` may hold too.
    Kubernetes,
    /// A package of the machine, found along `PATH`.
    Machine,
}

impl Program {
    fn describe(self) -> (&'static str, Origin, &'static [&'static str]) {
        match self {
            Self::Busybox => ("busybox", Origin::Machine, &["SLIPWAY_BUSYBOX"]),
            Self::Chromedriver => ("chromedriver", Origin::Machine, &["CHROMEDRIVER"]),
            Self::Chromium => ("chromium", Origin::Machine, &["CHROMIUM"]),
            Self::Containerd => ("containerd", Origin::Recipe("containerd"), &[]),
            Self::ControllerRuntimeOperator => (
                "application-operator",
                Origin::Recipe("controller-runtime"),
                &["CONTROLLER_RUNTIME_OPERATOR"],
            ),
            Self::CoreDns => ("coredns", Origin::Recipe("coredns"), &[]),
            Self::Ctr => ("ctr", Origin::Recipe("containerd"), &[]),
            Self::DockerRegistry => ("docker-registry", Origin::Machine, &["SLIPWAY_REGISTRY"]),
            Self::Etcd => ("etcd", Origin::Kubernetes, &[]),
            Self::Git => ("git", Origin::Machine, &[]),
            Self::Helm3 => ("helm", Origin::Recipe("helm3"), &["HELM3"]),
            Self::Helm4 => ("helm", Origin::Recipe("helm"), &["HELM"]),
            Self::Ip => ("ip", Origin::Machine, &[]),
            Self::KubeApiserver => ("kube-apiserver", Origin::Kubernetes, &[]),
            Self::KubeControllerManager => ("kube-controller-manager", Origin::Kubernetes, &[]),
            Self::KubeProxy => ("kube-proxy", Origin::Kubernetes, &[]),
            Self::KubeScheduler => ("kube-scheduler", Origin::Kubernetes, &[]),
            Self::Kubectl => ("kubectl", Origin::Kubernetes, &[]),
            Self::Kubelet => ("kubelet", Origin::Kubernetes, &[]),
            Self::Kwok => ("kwok", Origin::Recipe("kwok"), &["KWOK"]),
            Self::Node => ("node", Origin::Machine, &["SLIPWAY_NODE"]),
            Self::Nsenter => ("nsenter", Origin::Machine, &[]),
            Self::Runc => ("runc", Origin::Machine, &[]),
            Self::Unshare => ("unshare", Origin::Machine, &[]),
        }
    }

    /// The program's file: where the user's variable points, else what setup built, else along `PATH`.
    pub fn find(self) -> Result<PathBuf, Missing> {
        let (file, origin, variables) = self.describe();
        if let Some(own) =
            variables.iter().find_map(|name| env::var_os(name).filter(|value| !value.is_empty()))
        {
            return existing(PathBuf::from(own));
        }
        match origin {
            Origin::Recipe(recipe) => existing(built(recipe).join(file)),
            Origin::Kubernetes => {
                let own = env::var_os("KUBEBUILDER_ASSETS").map(|directory| Path::new(&directory).join(file));
                match own.filter(|path| path.is_file()) {
                    Some(path) => Ok(path),
                    None => existing(kubernetes_directory().join(file)),
                }
            }
            Origin::Machine => along_path(file).ok_or_else(|| Missing { program: file.to_owned() }),
        }
    }
}

/// The directory of the Kubernetes that tests run on: the newest supported, or with
/// `SLIPWAY_KUBERNETES=oldest` the oldest.
pub fn kubernetes_directory() -> PathBuf {
    let oldest = env::var_os("SLIPWAY_KUBERNETES").is_some_and(|wanted| wanted == "oldest");
    built(if oldest { "kubernetes-oldest" } else { "kubernetes" })
}

/// The directory whose `node_modules` holds the `OpenID` Connect issuer that tests log in through.
pub fn oidc_provider_directory() -> Result<PathBuf, Missing> {
    let directory = built("oidc-provider");
    if directory.join("node_modules").is_dir() {
        Ok(directory)
    } else {
        Err(Missing { program: "oidc-provider".to_owned() })
    }
}

fn built(recipe: &str) -> PathBuf {
    Recipe::named(recipe).map(Recipe::directory).unwrap_or_default()
}

fn existing(path: PathBuf) -> Result<PathBuf, Missing> {
    if path.is_file() { Ok(path) } else { Err(Missing { program: path.display().to_string() }) }
}

fn along_path(file: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // A user's PATH often lacks the administrator's directories, where `ip` and `runc` live.
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(administrators)
        .map(|directory| directory.join(file))
        .find(|path| path.is_file())
}

/// The directory of PostgreSQL's programs, 15 or newer: `SLIPWAY_PG_BIN`, else the newest on the machine.
pub fn postgres_directory() -> Result<PathBuf, Missing> {
    if let Some(own) = env::var_os("SLIPWAY_PG_BIN").filter(|value| !value.is_empty()) {
        return existing(Path::new(&own).join("postgres")).map(|_| PathBuf::from(own));
    }
    newest_postgres(Path::new("/usr/lib/postgresql"))
        .or_else(|| along_path("postgres").and_then(|file| file.parent().map(Path::to_owned)))
        .ok_or_else(|| Missing { program: "PostgreSQL 15 or newer".to_owned() })
}

fn newest_postgres(versions: &Path) -> Option<PathBuf> {
    fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
        })
        .filter(|(major, bin)| *major >= 15 && bin.join("postgres").is_file())
        .max_by_key(|(major, _)| *major)
        .map(|(_, bin)| bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_postgres_from_15_on_is_taken() {
        let scratch = tempfile::tempdir().unwrap();
        for (major, complete) in [("13", true), ("15", true), ("16", true), ("17", false), ("common", true)] {
            let bin = scratch.path().join(major).join("bin");
            fs::create_dir_all(&bin).unwrap();
            if complete {
                fs::write(bin.join("postgres"), "").unwrap();
            }
        }
        assert_eq!(newest_postgres(scratch.path()), Some(scratch.path().join("16/bin")));
        assert_eq!(newest_postgres(&scratch.path().join("13")), None);
    }

    #[test]
    fn a_missing_program_is_named_with_the_command_that_gets_it() {
        let error = existing(PathBuf::from("/no/such/kwok")).unwrap_err();
        assert_eq!(error.to_string(), "/no/such/kwok is not on this machine; get it with: cargo xtask setup");
    }

    #[test]
    fn a_program_of_the_machine_is_found() {
        assert!(Program::Git.find().unwrap().ends_with("git"));
    }
}
