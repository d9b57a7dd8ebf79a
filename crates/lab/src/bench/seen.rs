//! Times that were seen, and what so many of a hundred stayed within.

use std::time::Duration;

/// How long something took, each time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    took: Vec<Duration>,
}

impl Seen {
    /// Of what was timed.
    pub(super) fn new(mut took: Vec<Duration>) -> Self {
        took.sort();
        Self { took }
    }

    pub(super) fn len(&self) -> usize {
        self.took.len()
    }

    /// The time that so many of a hundred stayed within.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        let last = self.took.len().checked_sub(1)?;
        self.took.get((last * percent).div_ceil(100)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_seen() {
        let seen = Seen::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(seen.percentile(50), Some(Duration::from_millis(51)));
        assert_eq!(seen.percentile(99), Some(Duration::from_millis(100)));
        assert_eq!(Seen::default().percentile(99), None);
    }
}
