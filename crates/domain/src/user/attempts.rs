//! How often somebody may guess.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Attempts in a row that were not known to be right, of one name or from one place.
///
/// An attempt counts before the password is looked at, and is taken back when it was right: so a hundred at
/// once get no more guesses than a hundred in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// How many.
    pub failures: u32,
    /// When the last was made.
    pub last_at: Timestamp,
    /// Until when none is heard.
    pub locked_until: Option<Timestamp>,
}

/// After how many attempts it is locked, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRules {
    /// So many are free.
    pub allowed: u32,
    /// How long the first lock lasts; each further attempt that fails doubles it.
    pub first: Duration,
    /// No lock lasts longer.
    pub longest: Duration,
    /// After so long without an attempt all is forgotten.
    pub forget_after: Duration,
}

/// What becomes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is heard, and counts until it proves right.
    Heard(Attempts),
    /// It is not heard, whatever the password.
    Locked {
        /// Until then.
        until: Timestamp,
    },
}

impl LockRules {
    /// For one name: five, then a minute, two, four, up to an hour.
    pub const NAME: Self = Self {
        allowed: 5,
        first: Duration::from_mins(1),
        longest: Duration::from_hours(1),
        forget_after: Duration::from_hours(24),
    };

    /// For one place, where many people may sit behind one address: fifty, then up to a quarter of an hour.
    pub const SOURCE: Self = Self {
        allowed: 50,
        first: Duration::from_mins(1),
        longest: Duration::from_mins(15),
        forget_after: Duration::from_hours(1),
    };

    fn lock_after(&self, failures: u32) -> Option<SignedDuration> {
        let beyond = failures.checked_sub(self.allowed)?;
        let doubled = self.first.saturating_mul(1_u32.checked_shl(beyond).unwrap_or(u32::MAX));
        SignedDuration::try_from(doubled.min(self.longest)).ok()
    }
}

impl Attempts {
    /// Counts one more attempt after these, or refuses it.
    pub fn next(before: Option<Self>, now: Timestamp, rules: &LockRules) -> Turn {
        let before = before.filter(|attempts| {
            let quiet = now.duration_since(attempts.last_at);
            quiet < SignedDuration::try_from(rules.forget_after).unwrap_or(SignedDuration::MAX)
        });
        if let Some(until) = before.and_then(|attempts| attempts.locked_until).filter(|until| *until > now) {
            return Turn::Locked { until };
        }
        let failures = before.map_or(0, |attempts| attempts.failures).saturating_add(1);
        let locked_until = rules.lock_after(failures).and_then(|lock| now.checked_add(lock).ok());
        Turn::Heard(Self { failures, last_at: now, locked_until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn heard(before: Option<Attempts>, seconds: i64) -> Attempts {
        match Attempts::next(before, at(seconds), &LockRules::NAME) {
            Turn::Heard(attempts) => attempts,
            Turn::Locked { until } => panic!("locked until {until}"),
        }
    }

    #[test]
    fn the_fifth_failure_locks_and_each_further_one_doubles() {
        let mut attempts = None;
        for _ in 0..4 {
            attempts = Some(heard(attempts, 0));
            assert_eq!(attempts.unwrap().locked_until, None);
        }
        let mut attempts = heard(attempts, 0);
        let mut now = 0;
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            let until = at(now + minutes * 60);
            assert_eq!(attempts.locked_until, Some(until), "{minutes} minutes");
            let refused = Attempts::next(Some(attempts), at(now + minutes * 60 - 1), &LockRules::NAME);
            assert_eq!(refused, Turn::Locked { until });
            now += minutes * 60;
            attempts = heard(Some(attempts), now);
        }
    }

    #[test]
    fn a_day_of_quiet_is_forgiven() {
        let old = Attempts { failures: 400, last_at: at(0), locked_until: Some(at(3600)) };
        assert_eq!(heard(Some(old), 86_400).failures, 1);
        assert_eq!(heard(Some(old), 86_399).failures, 401);
        assert!(heard(Some(old), 86_399).locked_until.is_some(), "an overflow would unlock");
    }
}
