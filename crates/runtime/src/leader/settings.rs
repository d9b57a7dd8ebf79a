//! How an instance takes part in an election.

use std::fmt;
use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tower::util::rng::{HasherRng, Rng};

use super::callbacks::Callbacks;
use super::elector::Elector;
use super::leadership::Leadership;

/// The longest duration that fits the Lease's field.
const LONGEST_SECONDS: u64 = i32::MAX as u64;

/// The rhythm of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timing {
    /// How long others wait for a holder that shows no life.
    pub(super) lease_duration: Duration,
    /// How long a leader leads after its last renewal.
    pub(super) renew_deadline: Duration,
    /// How often a leader renews, and a candidate that hears nothing looks.
    pub(super) retry_period: Duration,
}

impl Timing {
    /// How long one request about the Lease may take.
    pub(super) fn request(&self) -> Duration {
        self.retry_period.max(self.renew_deadline / 2)
    }
}

/// An election that cannot be held as described.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidElection {
    /// The Lease has no name.
    #[error("leader election needs the name of a Lease")]
    NoName,
    /// A leader must be able to try several times, and must have stopped before others take over.
    #[error(
        "leader election {name}: retry period ({retry:?}) < renew deadline ({renew:?}) < lease duration \
         ({lease:?}) must hold, with a retry period above 0"
    )]
    Rhythm {
        /// The Lease.
        name: String,
        /// The retry period.
        retry: Duration,
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        lease: Duration,
    },
    /// The Lease counts in whole seconds of 32 bits.
    #[error("leader election {name}: a lease duration is between 1 s and {LONGEST_SECONDS} s, not {lease:?}")]
    Duration {
        /// The Lease.
        name: String,
        /// The lease duration.
        lease: Duration,
    },
    /// A standby instance leads when its group is preferred, so it needs one.
    #[error("leader election {name}: a standby instance needs a group, or it could never lead")]
    StandbyWithoutGroup {
        /// The Lease.
        name: String,
    },
}

/// How an instance takes part in the election of a leader.
///
/// ```
/// use std::time::Duration;
/// use slipway_runtime::leader::LeaderElection;
///
/// let election = LeaderElection::named("application-operator-leader")
///     .namespace("operators")
///     .lease_duration(Duration::from_secs(15))
///     .on_started(|term| tracing::info!(term, "leading"));
/// assert!(election.validate().is_ok());
/// ```
pub struct LeaderElection {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) identity: Option<String>,
    pub(super) group: Option<String>,
    pub(super) standby: bool,
    pub(super) timing: Timing,
    pub(super) drain_timeout: Duration,
    pub(super) callbacks: Callbacks,
}

impl fmt::Debug for LeaderElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElection")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("identity", &self.identity)
            .field("group", &self.group)
            .field("standby", &self.standby)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

impl LeaderElection {
    /// An election on the Lease of this name, with a duration of 15 s, a renew deadline of 10 s and a
    /// retry period of 2 s.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            identity: None,
            group: None,
            standby: false,
            timing: Timing {
                lease_duration: Duration::from_secs(15),
                renew_deadline: Duration::from_secs(10),
                retry_period: Duration::from_secs(2),
            },
            drain_timeout: Duration::from_secs(5),
            callbacks: Callbacks::default(),
        }
    }

    /// The same on a Lease of another name.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The Lease's namespace; the client's own unless told.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Who this instance is, unique among all that live; `<pod or host>-<random>` unless told.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// How long others wait for a leader that shows no life. Written to the Lease in whole seconds,
    /// rounded up.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.timing.lease_duration = duration;
        self
    }

    /// How long this instance leads after its last successful renewal.
    #[must_use]
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.timing.renew_deadline = deadline;
        self
    }

    /// How often the leader renews, and a follower that hears nothing from its watch looks.
    #[must_use]
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.timing.retry_period = period;
        self
    }

    /// The group that this instance belongs to, such as its release.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Whether this instance leads only when the Lease prefers its group.
    #[must_use]
    pub fn standby(mut self, standby: bool) -> Self {
        self.standby = standby;
        self
    }

    /// Called with the term when this instance becomes the leader. Callbacks run in order on a task of
    /// their own: a slow one delays the next one, never a renewal.
    #[must_use]
    pub fn on_started(mut self, callback: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.callbacks.started.push(Box::new(callback));
        self
    }

    /// Called when this instance stops to be the leader, whatever the reason.
    #[must_use]
    pub fn on_stopped(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.callbacks.stopped.push(Box::new(callback));
        self
    }

    /// Called with the identity of each new leader, this instance included.
    #[must_use]
    pub fn on_new_leader(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.callbacks.new_leader.push(Box::new(callback));
        self
    }

    /// Awaited when this instance yields to a preferred group, between its last moment as the leader
    /// and the release of the Lease: the place to let work end. Bounded by
    /// [`drain_timeout`](Self::drain_timeout).
    #[must_use]
    pub fn on_yield<F>(mut self, drain: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.callbacks.drain = Some(Box::new(move || Box::pin(drain())));
        self
    }

    /// How long yielding waits for work to end, 5 s unless told; never beyond the renew deadline.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// The name of the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the election can be held as described.
    pub fn validate(&self) -> Result<(), InvalidElection> {
        let Timing { lease_duration: lease, renew_deadline: renew, retry_period: retry } = self.timing;
        let name = self.name.clone();
        if name.is_empty() {
            return Err(InvalidElection::NoName);
        }
        if retry.is_zero() || retry >= renew || renew >= lease {
            return Err(InvalidElection::Rhythm { name, retry, renew, lease });
        }
        if lease < Duration::from_secs(1) || lease > Duration::from_secs(LONGEST_SECONDS) {
            return Err(InvalidElection::Duration { name, lease });
        }
        if self.standby && self.group.is_none() {
            return Err(InvalidElection::StandbyWithoutGroup { name });
        }
        Ok(())
    }

    /// Begins to take part. The client must not be fenced by this leadership. Dropping the elector
    /// ends the part without releasing the Lease; [`Elector::release`] ends it well.
    pub fn start(self, client: Client) -> Result<(Elector, Leadership), InvalidElection> {
        self.validate()?;
        Ok(Elector::start(self, client))
    }

    /// The identity that was given, or one that no other process has.
    pub(super) fn identity_or_own(&self) -> String {
        self.identity.clone().unwrap_or_else(|| format!("{}-{:08x}", host(), random() >> 32))
    }
}

/// The pod's name, or the machine's.
fn host() -> String {
    let named = |variable| std::env::var(variable).ok().filter(|value: &String| !value.is_empty());
    named("POD_NAME")
        .or_else(|| named("HOSTNAME"))
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "operator".to_owned())
}

/// A random number; good enough to keep names and moments apart, not for secrets.
pub(super) fn random() -> u64 {
    HasherRng::new().next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(lease: f64, renew: f64, retry: f64) -> LeaderElection {
        LeaderElection::named("operator")
            .lease_duration(Duration::from_secs_f64(lease))
            .renew_deadline(Duration::from_secs_f64(renew))
            .retry_period(Duration::from_secs_f64(retry))
    }

    #[test]
    fn the_rhythm_must_leave_room_for_retries_and_for_stopping() {
        assert_eq!(LeaderElection::named("operator").validate(), Ok(()));
        assert_eq!(seconds(3.0, 2.0, 0.5).validate(), Ok(()));
        for (lease, renew, retry) in
            [(10.0, 10.0, 2.0), (15.0, 2.0, 2.0), (15.0, 10.0, 0.0), (9.0, 10.0, 2.0)]
        {
            let error = seconds(lease, renew, retry).validate().unwrap_err();
            assert!(matches!(error, InvalidElection::Rhythm { .. }), "{error}");
        }
        let error = seconds(0.9, 0.5, 0.1).validate().unwrap_err();
        assert!(matches!(error, InvalidElection::Duration { .. }), "{error}");
        let error = seconds(3e9, 2.0, 0.5).validate().unwrap_err();
        assert!(matches!(error, InvalidElection::Duration { .. }), "{error}");
        assert_eq!(LeaderElection::named("").validate(), Err(InvalidElection::NoName));
    }

    #[test]
    fn a_standby_instance_needs_a_group() {
        let standby = || LeaderElection::named("operator").standby(true);
        let error = standby().validate().unwrap_err();
        assert_eq!(
            error.to_string(),
            "leader election operator: a standby instance needs a group, or it could never lead"
        );
        assert_eq!(standby().group("green").validate(), Ok(()));
    }

    #[test]
    fn two_instances_on_one_host_have_different_identities() {
        let election = LeaderElection::named("operator");
        assert_ne!(election.identity_or_own(), election.identity_or_own());
        assert_eq!(election.identity("me").identity_or_own(), "me");
    }
}
