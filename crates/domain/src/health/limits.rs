//! Where the lines are drawn.

use std::time::Duration;

/// The lines between well and not well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// How long a pod may take to start before it counts as not ready, or as crash-looping.
    pub start_deadline: Duration,
    /// The time in which restarts are counted.
    pub restart_window: Duration,
    /// So many restarts in that time are a crash loop.
    pub restarts: u32,
    /// So many restarts of a pod more than at the baseline, on average, are too many.
    pub average_restarts: f64,
    /// A webhook that takes this long is too slow.
    pub webhook_latency: Duration,
    /// The certificate is bad when one part of so many of its life is left.
    pub certificate_share: u32,
    /// Certificates that live for decades need no year of warning: this much is enough.
    pub certificate_warning: Duration,
    /// How long an object may lag behind or not be Ready.
    pub stale_after: Duration,
    /// The share of stale objects that is too much.
    pub error_rate: f64,
    /// So many failed checks in a row are told to people.
    pub failures: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_deadline: Duration::from_mins(2),
            restart_window: Duration::from_mins(5),
            restarts: 3,
            average_restarts: 5.0,
            webhook_latency: Duration::from_secs(1),
            certificate_share: 10,
            certificate_warning: Duration::from_hours(90 * 24),
            stale_after: Duration::from_mins(5),
            error_rate: 0.05,
            failures: 3,
        }
    }
}
