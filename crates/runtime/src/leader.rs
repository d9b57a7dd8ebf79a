//! Leader election on a Lease: who may write.
//!
//! Several instances of an operator run, one leads. [`LeaderElection`] says how, [`Elector`] is the
//! task that takes, renews and gives back the Lease, and [`Leadership`] is what everything else asks.
//! It answers by the clock: a process that was frozen past its deadline is no leader from the first
//! instruction after it wakes, whether or not its tasks have run.
//!
//! Followers watch the Lease, so that a released one is taken at once. A held one is taken only when
//! it did not change for its whole duration by the follower's own clock; the times written in it are
//! another machine's and prove nothing. Every write carries the resource version it was decided on, so
//! of two candidates that try at once the API server refuses one.
//!
//! # Two versions on one Lease
//!
//! Instances may belong to a [group](LeaderElection::group), such as a release. The Lease's annotation
//! [`PREFERRED_GROUP_ANNOTATION`] names the group that shall lead: others never acquire, and a leader
//! of another group stops, lets its work end, and releases. A [standby](LeaderElection::standby)
//! instance leads only when the annotation names its group. Whoever sets the annotation sees to it
//! that the group has a living instance; without one nobody leads.
//!
//! # Permissions
//!
//! `get`, `list`, `watch`, `create` and `update` on `leases` of `coordination.k8s.io` in the Lease's
//! namespace. Without `list` and `watch` it polls instead.
//!
//! # Limits
//!
//! The client given here must not be fenced by the leadership it wins. An identity belongs to one
//! process at a time. When someone deletes the Lease, its leader makes it anew and other candidates
//! wait a whole duration for that; one that starts in that very moment knows of no leader and does
//! not wait. The monotonic clock stands still while a whole machine is suspended; what such a leader
//! sends first when it wakes is stopped by preconditions only.

mod callbacks;
mod candidacy;
mod elector;
mod leadership;
mod record;
mod requests;
mod settings;
mod state;

pub use elector::Elector;
pub use leadership::{Leadership, LeadershipControl, NotLeader};
pub use settings::{InvalidElection, LeaderElection};
pub use state::{LeaderState, LeaseRef};

/// The annotation of a Lease that names the group whose instances shall lead.
pub const PREFERRED_GROUP_ANNOTATION: &str = "slipway.dev/preferred-group";
