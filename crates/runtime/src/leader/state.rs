//! What is known of an election, for people and for `/leader`.

use jiff::Timestamp;
use serde::Serialize;

/// The Lease of an election.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What is known of an election, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaderState {
    /// Whether this instance leads.
    pub is_leader: bool,
    /// Who this instance is.
    pub identity: String,
    /// The group of this instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Who the Lease names.
    pub leader: Option<String>,
    /// The group that shall lead, when the Lease names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_group: Option<String>,
    /// The Lease; none without election.
    pub lease: Option<LeaseRef>,
    /// How often this process became the leader.
    pub term: u64,
    /// How often the Lease changed hands.
    pub transitions: i32,
    /// When the leader acquired the Lease, by its own clock.
    pub acquired_at: Option<Timestamp>,
    /// When the leader last renewed it, by its own clock.
    pub renewed_at: Option<Timestamp>,
    /// What hinders the election now, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LeaderState {
    pub(super) fn new(identity: String, group: Option<String>, lease: Option<LeaseRef>) -> Self {
        Self {
            is_leader: false,
            identity,
            group,
            leader: None,
            preferred_group: None,
            lease,
            term: 0,
            transitions: 0,
            acquired_at: None,
            renewed_at: None,
            problem: None,
        }
    }
}
