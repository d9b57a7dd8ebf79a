//! What a comparison is told besides the two definitions.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::policy::Policy;

/// A Kubernetes release, as far as it changes what an API server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    major: u32,
    minor: u32,
}

/// A text that names no Kubernetes release.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a Kubernetes version; write it as 1.33")]
pub struct KubernetesVersionError(String);

impl KubernetesVersion {
    /// The release `major.minor`.
    pub const fn new(major: u32, minor: u32) -> KubernetesVersion {
        KubernetesVersion { major, minor }
    }

    /// Whether an update is judged by what it changes, on by default since 1.30: a stored value that the
    /// schema no longer allows does not stand in the way of other changes.
    pub fn ratchets(self) -> bool {
        self >= KubernetesVersion::new(1, 30)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for KubernetesVersion {
    type Err = KubernetesVersionError;

    /// Takes `1.33`, `v1.33.2` and what vendors make of it (`1.33+`, `v1.33.2-gke.100`).
    fn from_str(text: &str) -> Result<KubernetesVersion, KubernetesVersionError> {
        let wrong = || KubernetesVersionError(text.to_owned());
        let mut parts = text.trim().trim_start_matches('v').splitn(3, '.');
        let number = |part: Option<&str>| -> Option<u32> {
            let part = part?;
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part.get(..digits)?.parse().ok()
        };
        let major = number(parts.next()).ok_or_else(wrong)?;
        let minor = number(parts.next()).ok_or_else(wrong)?;
        Ok(KubernetesVersion { major, minor })
    }
}

/// What a comparison is told besides the two definitions.
#[derive(Debug, Clone)]
pub struct Options {
    /// The cluster's release; the newest known when nobody says.
    pub kubernetes: KubernetesVersion,
    /// Versions in which objects lie in etcd; `None` takes `status.storedVersions` of the old definition.
    pub stored_versions: Option<Vec<String>>,
    /// Live objects, in the version the cluster returned them; `None` when nobody looked.
    pub live_objects: Option<Vec<Value>>,
    /// What is tolerated.
    pub policy: Policy,
    /// The time by which waivers expire.
    pub now: Timestamp,
}

impl Options {
    /// The default of everything, at a given time.
    pub fn at(now: Timestamp) -> Options {
        Options { now, ..Options::default() }
    }

    /// The same options under another policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Options {
        Options { policy, ..self }
    }

    /// The same options for a cluster of that release.
    #[must_use]
    pub fn with_kubernetes(self, kubernetes: KubernetesVersion) -> Options {
        Options { kubernetes, ..self }
    }
}

impl Default for Options {
    /// The newest release, nothing live, the strict policy. Without waivers the time plays no part.
    fn default() -> Options {
        Options {
            kubernetes: KubernetesVersion::new(1, 36),
            stored_versions: None,
            live_objects: None,
            policy: Policy::default(),
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_and_vendors_write_them() {
        for text in ["1.33", "v1.33", "v1.33.2", "1.33+", "v1.33.2-gke.100", " 1.33 "] {
            assert_eq!(text.parse(), Ok(KubernetesVersion::new(1, 33)), "{text}");
        }
        assert_eq!(KubernetesVersion::new(1, 33).to_string(), "1.33");
    }

    #[test]
    fn what_is_no_version_is_refused_by_name() {
        for text in ["", "latest", "1", "v", "1.x"] {
            let error = text.parse::<KubernetesVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn ratcheting_came_with_1_30() {
        assert!(!KubernetesVersion::new(1, 29).ratchets());
        assert!(KubernetesVersion::new(1, 30).ratchets());
        assert!(Options::at(Timestamp::UNIX_EPOCH).kubernetes.ratchets());
    }
}
