//! Who is told about what was served.

use std::time::Duration;

/// Is told of every webhook that was asked, by the name it was registered with.
pub trait WebhookObserver: Send + Sync + 'static {
    /// A webhook answered: for which operation (`CREATE`, …, or `CONVERT`), how, and how long it took.
    fn served(&self, webhook: &str, operation: &str, allowed: bool, elapsed: Duration);
}
