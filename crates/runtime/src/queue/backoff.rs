//! How long a failing object waits.

use std::time::Duration;

/// Doubling waits for the first failures, then a slow pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    quick: u32,
    slow: Duration,
}

impl Default for Backoff {
    /// 1, 2, 4, 8 and 16 seconds, then every five minutes.
    fn default() -> Self {
        Self { first: Duration::from_secs(1), quick: 5, slow: Duration::from_mins(5) }
    }
}

impl Backoff {
    /// `quick` waits, of which the first is `first` and each is twice the one before; then `slow` for ever.
    pub fn new(first: Duration, quick: u32, slow: Duration) -> Self {
        Self { first, quick, slow }
    }

    /// The wait after so many failures in a row.
    pub fn after(&self, failures: u32) -> Duration {
        match failures {
            0 => Duration::ZERO,
            n if n <= self.quick => self.first.saturating_mul(2_u32.saturating_pow(n - 1)).min(self.slow),
            _ => self.slow,
        }
    }

    /// Whether so many failures mean that it is tried at the slow pace only.
    pub fn is_slow(&self, failures: u32) -> bool {
        failures > self.quick
    }

    /// After how many failures in a row it is tried at the slow pace only.
    pub fn quick(&self) -> u32 {
        self.quick
    }

    pub(super) fn longest_quick(&self) -> Duration {
        self.after(self.quick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_waits_double_and_then_it_is_slow() {
        let backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|failures| backoff.after(failures).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 300, 300]);
        assert!(!backoff.is_slow(5) && backoff.is_slow(6));
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let backoff = Backoff::new(Duration::from_secs(1), u32::MAX, Duration::from_mins(1));
        assert_eq!(backoff.after(u32::MAX), Duration::from_mins(1));
    }
}
