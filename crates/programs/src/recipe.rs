//! How each program that is not a package of the machine is built from a registry's source.

use std::fmt::Write as _;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::cache::cache_directory;

/// Where a recipe's source is.
#[derive(Debug)]
pub enum Source {
    /// A Go module of ours, by its files.
    Module(&'static [(&'static str, &'static str)]),
    /// Packages of a published Go module, as `go install` takes them.
    Install {
        /// The packages, each one program.
        packages: &'static [&'static str],
        /// The module's version.
        version: &'static str,
    },
    /// Packages of npm, by the files that name and pin them. The directory holds `node_modules`.
    Node(&'static [(&'static str, &'static str)]),
}

/// What a recipe is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Tests and the demonstration: always built.
    Tests,
    /// Tests on the oldest supported Kubernetes.
    Oldest,
    /// Measurements that put another program beside ours.
    Measurements,
}

/// One build that yields one or more programs.
#[derive(Debug)]
pub struct Recipe {
    /// What people call it.
    pub name: &'static str,
    /// The version that it builds.
    pub version: &'static str,
    /// Where its source is.
    pub source: Source,
    /// The file that the build writes.
    pub binary: &'static str,
    /// Further names for the binary, for programs that act by the name they are called.
    pub links: &'static [&'static str],
    /// Values stamped into the binary: `-X` for Go's linker.
    pub stamps: &'static [(&'static str, &'static str)],
    /// What it is built for.
    pub purpose: Purpose,
    /// About how long it takes on two cores with nothing cached, in seconds.
    pub cold_seconds: u32,
}

/// A file of a module of ours.
macro_rules! file {
    ($directory:literal, $name:literal) => {
        ($name, include_str!(concat!("../go/", $directory, "/", $name)))
    };
}

/// A file that pins packages of npm.
macro_rules! node {
    ($name:literal) => {
        ($name, include_str!(concat!("../../testkit/oidc/", $name)))
    };
}

/// A file of the operator that ours is measured beside.
macro_rules! measured {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../bench/controller-runtime/", $name)))
    };
}

const KUBERNETES_PROGRAMS: &[&str] = &[
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "kubectl",
];

/// Every build, in the order in which setup makes them.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "kubernetes",
        version: "1.36.3",
        source: Source::Module(&[
            file!("kubernetes", "main.go"),
            file!("kubernetes", "kubelet.go"),
            file!("kubernetes", "go.mod"),
            file!("kubernetes", "go.sum"),
        ]),
        binary: "kubernetes",
        links: KUBERNETES_PROGRAMS,
        stamps: &[
            ("k8s.io/component-base/version.gitVersion", "v1.36.3"),
            ("k8s.io/component-base/version.gitMajor", "1"),
            ("k8s.io/component-base/version.gitMinor", "36"),
        ],
        purpose: Purpose::Tests,
        cold_seconds: 440,
    },
    Recipe {
        name: "helm",
        version: "4.3.1",
        source: Source::Install { packages: &["helm.sh/helm/v4/cmd/helm"], version: "v4.3.1" },
        binary: "helm",
        links: &[],
        stamps: &[("helm.sh/helm/v4/internal/version.version", "v4.3.1")],
        purpose: Purpose::Tests,
        cold_seconds: 120,
    },
    Recipe {
        name: "helm3",
        version: "3.22.0",
        source: Source::Install { packages: &["helm.sh/helm/v3/cmd/helm"], version: "v3.22.0" },
        binary: "helm",
        links: &[],
        stamps: &[("helm.sh/helm/v3/internal/version.version", "v3.22.0")],
        purpose: Purpose::Tests,
        cold_seconds: 90,
    },
    Recipe {
        name: "kwok",
        version: "0.8.0",
        source: Source::Install { packages: &["sigs.k8s.io/kwok/cmd/kwok"], version: "v0.8.0" },
        binary: "kwok",
        links: &[],
        stamps: &[],
        purpose: Purpose::Tests,
        cold_seconds: 90,
    },
    Recipe {
        name: "containerd",
        version: "2.4.2",
        source: Source::Install {
            packages: &[
                "github.com/containerd/containerd/v2/cmd/containerd",
                "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
                "github.com/containerd/containerd/v2/cmd/ctr",
            ],
            version: "v2.4.2",
        },
        binary: "containerd",
        links: &[],
        stamps: &[("github.com/containerd/containerd/v2/version.Version", "v2.4.2")],
        purpose: Purpose::Tests,
        cold_seconds: 60,
    },
    Recipe {
        name: "coredns",
        version: "1.15.0",
        source: Source::Module(&[
            file!("coredns", "main.go"),
            file!("coredns", "go.mod"),
            file!("coredns", "go.sum"),
        ]),
        binary: "coredns",
        links: &[],
        stamps: &[],
        purpose: Purpose::Tests,
        cold_seconds: 60,
    },
    Recipe {
        name: "oidc-provider",
        version: "9.13.3",
        source: Source::Node(&[node!("package.json"), node!("package-lock.json")]),
        binary: "node_modules",
        links: &[],
        stamps: &[],
        purpose: Purpose::Tests,
        cold_seconds: 30,
    },
    Recipe {
        name: "kubernetes-oldest",
        version: "1.33.13",
        source: Source::Module(&[
            file!("kubernetes", "main.go"),
            file!("kubernetes-oldest", "kubelet.go"),
            file!("kubernetes-oldest", "go.mod"),
            file!("kubernetes-oldest", "go.sum"),
        ]),
        binary: "kubernetes",
        links: KUBERNETES_PROGRAMS,
        stamps: &[
            ("k8s.io/component-base/version.gitVersion", "v1.33.13"),
            ("k8s.io/component-base/version.gitMajor", "1"),
            ("k8s.io/component-base/version.gitMinor", "33"),
        ],
        purpose: Purpose::Oldest,
        cold_seconds: 440,
    },
    Recipe {
        name: "controller-runtime",
        version: "0.25.2",
        source: Source::Module(&[
            measured!("api/v1/deepcopy.go"),
            measured!("api/v1/types.go"),
            measured!("children.go"),
            measured!("main.go"),
            measured!("predicates.go"),
            measured!("ready.go"),
            measured!("reconciler.go"),
            measured!("status.go"),
            measured!("webhooks.go"),
            measured!("go.mod"),
            measured!("go.sum"),
        ]),
        binary: "application-operator",
        links: &[],
        stamps: &[],
        purpose: Purpose::Measurements,
        cold_seconds: 150,
    },
];

impl Recipe {
    /// The recipe with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RECIPES.iter().find(|recipe| recipe.name == name)
    }

    /// What the build depends on, as one short word: another content is another directory in the cache.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(self.name);
        add(self.version);
        add(self.binary);
        match &self.source {
            Source::Module(files) | Source::Node(files) => files.iter().for_each(|(name, content)| {
                add(name);
                add(content);
            }),
            Source::Install { packages, version } => {
                packages.iter().for_each(|package| add(package));
                add(version);
            }
        }
        for (name, value) in self.stamps {
            add(name);
            add(value);
        }
        self.links.iter().for_each(|link| add(link));
        hash.finalize().iter().take(6).fold(String::new(), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
    }

    /// The directory that holds this recipe's programs once it is built.
    pub fn directory(&self) -> PathBuf {
        cache_directory().join("programs").join(format!("{}-{}-{}", self.name, self.version, self.key()))
    }

    /// Whether it is built. A directory appears whole or not at all, so its existence is enough.
    pub fn is_built(&self) -> bool {
        self.directory().is_dir()
    }
}

/// A package of Debian or Ubuntu that is needed on the machine.
#[derive(Debug)]
pub struct DebianPackage {
    /// Its name.
    pub name: &'static str,
    /// A file that shows that it is there; a package may also be missing where a user's own program is.
    pub files: &'static [&'static str],
    /// What it is for.
    pub purpose: &'static str,
}

/// What comes from the distribution.
pub const DEBIAN_PACKAGES: &[DebianPackage] = &[
    DebianPackage { name: "git", files: &["git"], purpose: "Git repositories" },
    DebianPackage { name: "runc", files: &["runc"], purpose: "containers on real nodes" },
    DebianPackage {
        name: "containernetworking-plugins",
        files: &["/usr/lib/cni/bridge"],
        purpose: "pod networks on real nodes",
    },
    DebianPackage { name: "iptables", files: &["iptables"], purpose: "Services on real nodes" },
    DebianPackage { name: "conntrack", files: &["conntrack"], purpose: "Services on real nodes" },
    DebianPackage { name: "iproute2", files: &["ip"], purpose: "network namespaces" },
    DebianPackage { name: "util-linux", files: &["nsenter", "unshare"], purpose: "namespaces" },
    DebianPackage { name: "kmod", files: &["modprobe"], purpose: "kernel modules of real nodes" },
    DebianPackage { name: "busybox-static", files: &["busybox"], purpose: "a shell for test images" },
    DebianPackage { name: "docker-registry", files: &["docker-registry"], purpose: "an OCI registry" },
    DebianPackage { name: "nodejs", files: &["node"], purpose: "an OpenID Connect issuer" },
    DebianPackage { name: "npm", files: &["npm"], purpose: "the packages of that issuer" },
    DebianPackage { name: "chromium", files: &["chromium"], purpose: "pages in a browser" },
    DebianPackage { name: "chromium-driver", files: &["chromedriver"], purpose: "driving the browser" },
    DebianPackage {
        name: "fonts-dejavu-core",
        files: &["/usr/share/fonts/truetype/dejavu"],
        purpose: "text in screenshots",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipe_has_a_directory_of_its_own() {
        let mut directories: Vec<_> = RECIPES.iter().map(Recipe::directory).collect();
        directories.sort();
        directories.dedup();
        assert_eq!(directories.len(), RECIPES.len());
    }

    #[test]
    fn a_changed_source_is_another_directory() {
        let with = |content| Recipe {
            name: "a",
            version: "1",
            source: Source::Module(content),
            binary: "a",
            links: &[],
            stamps: &[],
            purpose: Purpose::Tests,
            cold_seconds: 0,
        };
        let one = with(&[("go.mod", "module a")]);
        assert_eq!(one.key(), with(&[("go.mod", "module a")]).key());
        assert_ne!(one.key(), with(&[("go.mod", "module b")]).key());
        assert_ne!(one.key(), with(&[("go.modm", "odule a")]).key());
    }

    #[test]
    fn the_stamped_version_is_the_version_that_go_mod_names() {
        for name in ["kubernetes", "kubernetes-oldest"] {
            let recipe = Recipe::named(name).unwrap();
            let Source::Module(files) = &recipe.source else { panic!("{name} is a module of ours") };
            let (_, module) = files.iter().find(|(file, _)| *file == "go.mod").unwrap();
            assert!(module.contains(&format!("k8s.io/kubernetes v{}\n", recipe.version)), "{name}");
            assert_eq!(recipe.stamps[0].1, format!("v{}", recipe.version));
        }
    }

    #[test]
    fn the_measured_operator_is_on_the_version_that_its_recipe_names() {
        let recipe = Recipe::named("controller-runtime").unwrap();
        let Source::Module(files) = &recipe.source else { panic!("it is a module of ours") };
        let (_, module) = files.iter().find(|(file, _)| *file == "go.mod").unwrap();
        assert!(module.contains(&format!("sigs.k8s.io/controller-runtime v{}\n", recipe.version)));
        assert_eq!(recipe.purpose, Purpose::Measurements, "plain setup does not build it");
    }
}
