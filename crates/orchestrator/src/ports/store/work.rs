//! Work that one server at a time does.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::changes::{Fence, Work};

/// Work that this server may do now, and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Which.
    pub work: Work,
    /// The epoch that every write for it carries.
    pub epoch: i64,
}

impl Claim {
    /// What a change that belongs to this claim is fenced with.
    pub fn fence(&self) -> Fence {
        Fence { work: self.work.clone(), epoch: self.epoch }
    }
}

/// Claims: due work is handed to one server, which gives it back with the next time it is due. A server
/// that dies loses it when the lease ends.
#[async_trait]
pub trait WorkRows: Send + Sync {
    /// Claims what is due of a kind, `most` at most, for so long.
    async fn claim(&self, kind: &'static str, most: u32, lease: Duration) -> Result<Vec<Claim>, StoreError>;

    /// Keeps a claim for so long from now; whether it still held.
    async fn keep(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError>;

    /// Gives work back, due again after so long; nothing happens if the claim is lost.
    async fn release(&self, claim: &Claim, after: Duration) -> Result<(), StoreError>;

    /// How long until the next work of a kind is due; nothing if there is none.
    async fn next_due(&self, kind: &'static str) -> Result<Option<Duration>, StoreError>;
}
