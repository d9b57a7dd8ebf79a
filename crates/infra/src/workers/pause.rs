//! How long to wait, never exactly: servers that wait alike would all come at once.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_mins(5);

/// A little longer than that: by up to a tenth, and a few milliseconds.
pub(super) fn jitter(pause: Duration) -> Duration {
    // The standard library seeds its hashers from the system, which is chance enough here.
    let chance = RandomState::new().hash_one(()) % 1000;
    let part = u32::try_from(chance).unwrap_or_default();
    pause + (pause / 10 + Duration::from_millis(20)) * part / 1000
}

/// After so many failures in a row: a second, then twice as long each time, up to five minutes.
pub(super) fn backoff(failures: u32) -> Duration {
    let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    jitter(Duration::from_secs(doubled.min(LONGEST.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_end_at_five_minutes() {
        let seconds = |failures| backoff(failures).as_secs_f64();
        assert!((1.0..1.2).contains(&seconds(1)));
        assert!((4.0..4.5).contains(&seconds(3)));
        for many in [10, 64, 65, u32::MAX] {
            assert!((300.0..331.0).contains(&seconds(many)), "{many}");
        }
    }
}
