//! What a Lease says, and what it shall say next.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::PREFERRED_GROUP_ANNOTATION;

/// What a candidate reads in a Lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: Option<String>,
    pub(super) lasts: Option<Duration>,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    pub(super) transitions: i32,
    pub(super) preferred_group: Option<String>,
}

impl Record {
    /// Reads a Lease. An empty holder is none, and a duration that makes no sense is not there.
    pub(super) fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let annotations = lease.metadata.annotations.as_ref();
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            lasts: spec
                .lease_duration_seconds
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
            preferred_group: annotations
                .and_then(|annotations| annotations.get(PREFERRED_GROUP_ANNOTATION))
                .filter(|group| !group.is_empty())
                .cloned(),
        }
    }

    /// Whether both say the same of who holds the Lease since when. Anything else in a Lease may
    /// change without its holder showing life.
    pub(super) fn same_claim(&self, other: &Self) -> bool {
        self.holder == other.holder
            && self.lasts == other.lasts
            && self.acquired == other.acquired
            && self.renewed == other.renewed
            && self.transitions == other.transitions
    }
}

/// A Lease of this name that does not exist yet.
pub(super) fn fresh(namespace: &str, name: &str) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        spec: None,
    }
}

/// The Lease as its next holder writes it, or its present one to renew it. Everything else in it stays,
/// its resource version above all: the write is refused when another came first.
pub(super) fn claimed(lease: &Lease, identity: &str, lasts: Duration, now: Timestamp) -> Lease {
    let mut next = lease.clone();
    let old = Record::of(lease);
    let spec = next.spec.get_or_insert_with(LeaseSpec::default);
    if old.holder.as_deref() != Some(identity) {
        // The first holder of a Lease follows nobody.
        let follows = lease.metadata.resource_version.is_some();
        spec.lease_transitions = Some(old.transitions.saturating_add(i32::from(follows)));
        spec.acquire_time = Some(MicroTime(now));
    }
    spec.holder_identity = Some(identity.to_owned());
    spec.lease_duration_seconds = Some(whole_seconds(lasts));
    spec.renew_time = Some(MicroTime(now));
    next
}

/// The Lease as a holder leaves it for whoever comes next.
pub(super) fn released(lease: &Lease, now: Timestamp) -> Lease {
    let mut next = lease.clone();
    let spec = next.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = None;
    // Candidates of other makes wait for the duration even when there is no holder.
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(now));
    spec.acquire_time = Some(MicroTime(now));
    next
}

/// Rounded up: who reads it may wait longer than promised, never shorter.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const LASTS: Duration = Duration::from_millis(2500);

    fn stored(mut lease: Lease) -> Lease {
        lease.metadata.resource_version = Some("7".into());
        lease
    }

    #[test]
    fn the_first_holder_counts_no_transition_and_a_renewal_keeps_when_it_acquired() {
        let first = stored(claimed(&fresh("here", "operator"), "a", LASTS, at(10)));
        let expected = Record {
            holder: Some("a".into()),
            lasts: Some(Duration::from_secs(3)),
            acquired: Some(at(10)),
            renewed: Some(at(10)),
            transitions: 0,
            preferred_group: None,
        };
        assert_eq!(Record::of(&first), expected);
        let renewed = claimed(&first, "a", LASTS, at(12));
        assert_eq!(Record::of(&renewed), Record { renewed: Some(at(12)), ..expected });
    }

    #[test]
    fn another_holder_counts_a_transition_and_acquires_anew_with_what_else_is_in_the_lease_kept() {
        let mut first = stored(claimed(&fresh("here", "operator"), "a", LASTS, at(10)));
        first.metadata.annotations = Some([(PREFERRED_GROUP_ANNOTATION.into(), "green".into())].into());
        let second = claimed(&first, "b", LASTS, at(30));
        let record = Record::of(&second);
        assert_eq!(record.transitions, 1);
        assert_eq!(record.acquired, Some(at(30)));
        assert_eq!(record.preferred_group.as_deref(), Some("green"));
        assert_eq!(second.metadata.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn a_released_lease_has_no_holder_and_keeps_its_transitions() {
        let held = stored(claimed(&stored(fresh("here", "operator")), "a", LASTS, at(10)));
        let record = Record::of(&released(&held, at(20)));
        assert_eq!(record.holder, None);
        assert_eq!(record.transitions, 1);
        assert_eq!(record.lasts, Some(Duration::from_secs(1)));
    }

    #[test]
    fn only_what_the_holder_writes_shows_that_it_lives() {
        let held = claimed(&fresh("here", "operator"), "a", LASTS, at(10));
        let mut labelled = held.clone();
        labelled.metadata.annotations = Some([(PREFERRED_GROUP_ANNOTATION.into(), "green".into())].into());
        assert!(Record::of(&held).same_claim(&Record::of(&labelled)));
        assert!(!Record::of(&held).same_claim(&Record::of(&claimed(&held, "a", LASTS, at(11)))));
    }

    #[test]
    fn a_lease_that_makes_no_sense_has_no_holder_and_no_duration() {
        let mut lease = fresh("here", "operator");
        assert_eq!(Record::of(&lease), Record::default());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(-4),
            ..LeaseSpec::default()
        });
        assert_eq!(Record::of(&lease), Record::default());
    }
}
