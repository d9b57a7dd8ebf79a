//! Which steps from version to version a profile allows.

use std::fmt;

use super::{Profile, Upgrade, UpgradePath};
use crate::version::Version;

/// Why a step is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeRefusal {
    /// A minor version is left out.
    SkippedMinor {
        /// From where.
        from: Version,
        /// To where.
        to: Version,
        /// What to go to first, such as `1.14`.
        next: String,
    },
}

impl fmt::Display for UpgradeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SkippedMinor { from, to, next } => {
                write!(
                    f,
                    "{from} cannot go to {to} at once: minor versions must not be skipped; go to {next} first"
                )
            }
        }
    }
}

impl Upgrade {
    /// Whether nothing is said.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Profile {
    /// Whether an operator may go from one version to another; going back is not judged here.
    pub fn allows(&self, from: &Version, to: &Version) -> Result<(), Box<UpgradeRefusal>> {
        let (old, new) = (from.semantic(), to.semantic());
        let skips = old.major == new.major && new.minor > old.minor + 1;
        match self.upgrade.path {
            UpgradePath::NoSkippedMinor if skips => Err(Box::new(UpgradeRefusal::SkippedMinor {
                from: from.clone(),
                to: to.clone(),
                next: format!("{}.{}", old.major, old.minor + 1),
            })),
            UpgradePath::NoSkippedMinor | UpgradePath::Any => Ok(()),
        }
    }

    /// The version that makes going back impossible when one goes from one version to another.
    pub fn one_way(&self, from: &Version, to: &Version) -> Option<&Version> {
        self.upgrade.one_way.iter().filter(|version| *version > from && *version <= to).max()
    }
}
