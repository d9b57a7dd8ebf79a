//! Versions of operators, in semantic order, with or without a leading `v`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A semantic version that keeps the way it was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    text: String,
    parsed: semver::Version,
}

/// Why a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a version such as 1.2.3 or v1.2.3-rc.1")]
pub struct BadVersion;

impl Version {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it comes before a release, such as `1.2.3-rc.1`.
    pub fn is_prerelease(&self) -> bool {
        !self.parsed.pre.is_empty()
    }

    /// A text that sorts, byte by byte, as the versions do: for databases.
    pub fn order(&self) -> String {
        let semver::Version { major, minor, patch, pre, .. } = &self.parsed;
        let mut key = format!("{major:020}.{minor:020}.{patch:020}");
        if pre.is_empty() {
            // Above everything that a pre-release begins with.
            key.push('~');
            return key;
        }
        key.push('-');
        for part in pre.split('.') {
            let numeric = part.bytes().all(|byte| byte.is_ascii_digit());
            // Numbers come before words; a longer number without leading zeros is the greater one.
            if numeric {
                key.push_str(&format!("0{:03}{part} ", part.len()));
            } else {
                key.push_str(&format!("1{part} "));
            }
        }
        key
    }

    /// Its numbers.
    pub fn semantic(&self) -> &semver::Version {
        &self.parsed
    }
}

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        if text.len() > 255 {
            return Err(BadVersion);
        }
        let parsed = semver::Version::parse(bare).map_err(|_| BadVersion)?;
        Ok(Self { text: text.to_owned(), parsed })
    }
}

impl TryFrom<String> for Version {
    type Error = BadVersion;

    fn try_from(text: String) -> Result<Self, BadVersion> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.text
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parsed.cmp_precedence(&other.parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn the_order_for_databases_is_the_semantic_one() {
        let ascending = [
            "0.9.0",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-11",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-alpha-1",
            "1.0.0-beta",
            "1.0.0-rc.2",
            "1.0.0-rc.10",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "10.0.0",
        ];
        let mut sorted: Vec<Version> = ascending.iter().rev().map(|text| version(text)).collect();
        sorted.sort();
        let mut keyed = sorted.clone();
        keyed.sort_by_key(Version::order);
        let texts = |versions: &[Version]| versions.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&keyed), texts(&sorted));
        assert_eq!(version("v1.2.3").order(), version("1.2.3+build").order());
    }

    proptest::proptest! {
        #[test]
        fn any_two_versions_are_ordered_as_their_keys(
            a in "[0-3]\\.[0-3]\\.[0-3](-[a-b0-2]{1,2}(\\.[a-b1-2-]{1,3}){0,2})?",
            b in "[0-3]\\.[0-3]\\.[0-3](-[a-b0-2]{1,2}(\\.[a-b1-2-]{1,3}){0,2})?",
        ) {
            if let (Ok(a), Ok(b)) = (a.parse::<Version>(), b.parse::<Version>()) {
                proptest::prop_assert_eq!(a.cmp(&b), a.order().cmp(&b.order()));
            }
        }
    }

    #[test]
    fn versions_follow_semantic_order_however_they_are_written() {
        assert!(version("v1.10.0") > version("1.9.9"));
        assert!(version("1.0.0-rc.1") < version("v1.0.0"));
        assert_eq!(version("v1.2.3"), version("1.2.3+build"));
        assert_eq!(version("v1.2.3").as_str(), "v1.2.3");
        assert!(version("1.0.0-rc.1").is_prerelease());
        for bad in ["", "1", "1.2", "latest", "vv1.2.3", "1.2.3.4", "../1.2.3"] {
            assert_eq!(bad.parse::<Version>(), Err(BadVersion), "{bad}");
        }
    }
}
