//! What the use cases need from the world, as traits; `infra` implements them.

pub mod charts;
pub mod clusters;
pub mod crds;
pub mod fleet;
pub mod identity;
pub mod keyring;
pub mod limits;
pub mod notifier;
pub mod probes;
pub mod releases;
pub mod store;

use jiff::Timestamp;

pub use charts::Charts;
pub use clusters::Clusters;
pub use crds::{LiveCrds, LiveCrdsError};
pub use fleet::Fleet;
pub use identity::Identity;
pub use keyring::Keyring;
pub use limits::{Limits, Replies};
pub use notifier::{Notifier, NotifyError};
pub use probes::Probes;
pub use releases::Releases;
pub use store::{Store, StoreError};

/// The time, which tests own.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
