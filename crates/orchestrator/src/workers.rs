//! Work in the background that the servers share: each piece is done by one server at a time.

use std::time::Duration;

use async_trait::async_trait;

use crate::ports::store::Claim;

/// Does one kind of work. It takes no input but the claim, and what it writes is fenced with it.
#[async_trait]
pub trait Worker: Send + Sync {
    /// The kind of work.
    fn kind(&self) -> &'static str;

    /// How long a claim holds unless it is kept; the runner keeps it while the work goes on.
    fn lease(&self) -> Duration {
        Duration::from_secs(15)
    }

    /// How many pieces one server does at once.
    fn at_once(&self) -> u32 {
        8
    }

    /// Does a piece and says when it is due again. An error is logged, and the piece tried again later.
    async fn work(&self, claim: &Claim) -> Result<Next, crate::Error>;
}

/// When a piece of work is due again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// After so long.
    After(Duration),
    /// Never: the worker ended it with its own commit, or it is gone.
    Ended,
}
