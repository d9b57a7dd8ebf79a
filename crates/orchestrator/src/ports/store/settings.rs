//! Policies, approval rules, windows and values.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::document::Kind;
use slipway_domain::settings::Setting;

use super::StoreError;

/// A setting as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSetting {
    /// Its name.
    pub name: String,
    /// What it says.
    pub setting: Setting,
    /// Grows with every change; a change is made for the one that was read.
    pub revision: i64,
    /// Since when it is so.
    pub updated_at: Timestamp,
}

/// Reads.
#[async_trait]
pub trait SettingsRows: Send + Sync {
    /// All of a kind, or all, by kind and name.
    async fn settings(&self, kind: Option<Kind>) -> Result<Vec<StoredSetting>, StoreError>;

    /// One.
    async fn setting(&self, kind: Kind, name: &str) -> Result<Option<StoredSetting>, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettingsWrite {
    /// Makes or changes one. Stale, if it is not as it was read; `None` means that there was none.
    Put {
        /// Its name.
        name: String,
        /// What it says now.
        setting: Setting,
        /// What was read.
        revision: Option<i64>,
        /// When.
        at: Timestamp,
    },
    /// Removes one. Stale as above.
    Remove {
        /// Its kind.
        kind: Kind,
        /// Its name.
        name: String,
        /// What was read.
        revision: i64,
    },
}
