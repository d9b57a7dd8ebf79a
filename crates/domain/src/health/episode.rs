//! When people are told: once when it goes wrong for good, once when it is over.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What one check says about going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// It is well.
    Passed,
    /// It is not.
    Failed,
    /// It cannot be said, or it is too early to say.
    Undecided,
}

/// The run of failed checks that an operator on a cluster is in, if any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Episode {
    /// How many checks failed in a row; those that could not decide neither add nor end.
    pub failures: u32,
    /// When the first of them failed.
    pub since: Option<Timestamp>,
    /// Whether people were told.
    pub alerted: bool,
    /// The number of this episode, or of the last: tells messages of one from those of the next.
    pub number: u64,
}

/// What people are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// It has failed often enough.
    Failing {
        /// Since then.
        since: Timestamp,
        /// So many checks in a row.
        failures: u32,
    },
    /// It is well again.
    Recovered {
        /// It had failed since then.
        since: Timestamp,
    },
}

impl Episode {
    /// The episode after another check, and what people are told because of it.
    pub fn next(self, check: Check, now: Timestamp, failures: u32) -> (Self, Option<Alert>) {
        match check {
            Check::Undecided => (self, None),
            Check::Passed => {
                let told = self.since.filter(|_| self.alerted);
                let next = Self { failures: 0, since: None, alerted: false, number: self.number };
                (next, told.map(|since| Alert::Recovered { since }))
            }
            Check::Failed => {
                let since = self.since.unwrap_or(now);
                let number = if self.failures == 0 { self.number + 1 } else { self.number };
                let count = self.failures.saturating_add(1);
                let tell = count >= failures && !self.alerted;
                let next =
                    Self { failures: count, since: Some(since), alerted: self.alerted || tell, number };
                (next, tell.then_some(Alert::Failing { since, failures: count }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second * 30).unwrap()
    }

    fn run(checks: &[Check]) -> (Episode, Vec<(usize, Alert)>) {
        let mut episode = Episode::default();
        let mut told = Vec::new();
        for (index, check) in checks.iter().enumerate() {
            let (next, alert) = episode.next(*check, at(i64::try_from(index).unwrap()), 3);
            episode = next;
            told.extend(alert.map(|alert| (index, alert)));
        }
        (episode, told)
    }

    #[test]
    fn three_failures_are_told_once_and_recovery_once() {
        use Check::{Failed, Passed};
        let (_, told) = run(&[Failed, Failed, Failed, Failed, Failed, Passed, Passed]);
        assert_eq!(
            told,
            [(2, Alert::Failing { since: at(0), failures: 3 }), (5, Alert::Recovered { since: at(0) })]
        );
    }

    #[test]
    fn two_failures_are_nobodys_business() {
        use Check::{Failed, Passed};
        assert_eq!(run(&[Failed, Failed, Passed, Failed, Failed, Passed]).1, []);
    }

    #[test]
    fn what_cannot_be_said_neither_adds_nor_ends() {
        use Check::{Failed, Passed, Undecided};
        let (episode, told) = run(&[Failed, Undecided, Failed, Undecided, Failed, Undecided]);
        assert_eq!(told, [(4, Alert::Failing { since: at(0), failures: 3 })]);
        assert!(episode.alerted);
        assert_eq!(run(&[Failed, Failed, Failed, Undecided, Passed]).1.len(), 2);
    }

    fn checks() -> impl Strategy<Value = Vec<Check>> {
        let check = prop_oneof![Just(Check::Passed), Just(Check::Failed), Just(Check::Undecided)];
        proptest::collection::vec(check, 0..60)
    }

    proptest! {
        #[test]
        fn people_hear_of_each_episode_once_and_of_its_end_once(checks in checks()) {
            let (episode, told) = run(&checks);
            // Failing and recovered take turns, beginning with failing.
            for (turn, (index, alert)) in told.iter().enumerate() {
                prop_assert_eq!(matches!(alert, Alert::Failing { .. }), turn % 2 == 0);
                match alert {
                    Alert::Failing { failures, .. } => {
                        prop_assert_eq!(*failures, 3);
                        prop_assert_eq!(checks[*index], Check::Failed);
                    }
                    Alert::Recovered { .. } => prop_assert_eq!(checks[*index], Check::Passed),
                }
            }
            prop_assert_eq!(episode.alerted, told.len() % 2 == 1);
            // Every run of three failures, undecided ones aside, is told.
            let decided: Vec<Check> = checks.into_iter().filter(|check| *check != Check::Undecided).collect();
            let runs = decided.split(|check| *check == Check::Passed).filter(|run| run.len() >= 3).count();
            prop_assert_eq!(told.iter().filter(|(_, alert)| matches!(alert, Alert::Failing { .. })).count(), runs);
        }

        #[test]
        fn each_episode_has_a_number_of_its_own(checks in checks()) {
            let mut episode = Episode::default();
            let mut numbers = Vec::new();
            for check in checks {
                let before = episode;
                (episode, _) = episode.next(check, at(0), 3);
                if before.failures == 0 && episode.failures == 1 {
                    numbers.push(episode.number);
                }
            }
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
