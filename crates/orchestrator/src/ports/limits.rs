//! How much callers use, counted by all servers together, and replies that are given twice.

use std::time::Duration;

use async_trait::async_trait;

use super::store::StoreError;

/// How often somebody may do something, in a minute that slides: the minute before this one counts with the
/// part of it that is less than sixty seconds ago.
#[async_trait]
pub trait Limits: Send + Sync {
    /// Counts one use of `bucket` by `subject` if there is room for it within `limit`.
    async fn count(&self, bucket: &str, subject: &str, limit: u32) -> Result<Usage, StoreError>;

    /// Removes what no longer counts.
    async fn thin_limits(&self) -> Result<u64, StoreError>;
}

/// How much was used, as counting found it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Whether there was room, and this use was counted.
    pub counted: bool,
    /// How often at most.
    pub limit: u32,
    /// Uses within the minute before this one.
    pub before: u32,
    /// Uses within this minute, the one just counted included.
    pub now: u32,
    /// How much of this minute has passed, in seconds.
    pub elapsed: f64,
    /// When this minute began, in seconds since 1970.
    pub began: i64,
}

const MINUTE: f64 = 60.0;

impl Usage {
    /// How many more there is room for now.
    pub fn remaining(&self) -> u32 {
        let used = f64::from(self.before) * (1.0 - self.elapsed / MINUTE) + f64::from(self.now);
        whole((f64::from(self.limit) - used).max(0.0).floor())
    }

    /// When there is room for all again if nothing more is used, in seconds since 1970.
    pub fn reset(&self) -> i64 {
        self.began + if self.now > 0 { 120 } else { 60 }
    }

    /// How long until there is room for one more, in whole seconds; at least one.
    pub fn wait(&self) -> Duration {
        let limit = f64::from(self.limit);
        let (now, before) = (f64::from(self.now), f64::from(self.before));
        let seconds = if now + 1.0 > limit {
            // This minute is full by itself; it becomes the one before, and fades.
            (MINUTE - self.elapsed) + MINUTE * (1.0 - (limit - 1.0) / now.max(1.0)).max(0.0)
        } else if before > 0.0 {
            MINUTE * (1.0 - (limit - 1.0 - now) / before).max(0.0) - self.elapsed
        } else {
            0.0
        };
        Duration::from_secs(u64::from(whole(seconds.ceil())).max(1))
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a whole number between 0 and a limit, or some seconds"
)]
fn whole(number: f64) -> u32 {
    number.clamp(0.0, f64::from(u32::MAX)) as u32
}

/// Replies to requests that carry a key, so that the same request again changes nothing again.
#[async_trait]
pub trait Replies: Send + Sync {
    /// Takes a key of a caller for a request, or finds what became of it.
    async fn take(&self, request: &Keyed) -> Result<Taken, StoreError>;

    /// Keeps the reply of a request whose key was taken.
    async fn keep(&self, request: &Keyed, reply: &KeptReply) -> Result<(), StoreError>;

    /// Gives a key back: nothing was done, so the same request may be made again.
    async fn give_back(&self, request: &Keyed) -> Result<(), StoreError>;

    /// Removes what was kept long enough.
    async fn thin_replies(&self) -> Result<u64, StoreError>;
}

/// A request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed {
    /// Who asks.
    pub subject: String,
    /// Their key.
    pub key: String,
    /// What tells their requests apart: a digest of verb, path and body.
    pub digest: [u8; 32],
    /// Who answers this one; another attempt is somebody else.
    pub holder: uuid::Uuid,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is taken now; the reply is to be kept.
    Fresh,
    /// The same request was answered.
    Answered(KeptReply),
    /// The same request is being answered.
    UnderWay,
    /// Another request had this key.
    Other,
}

/// A reply that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReply {
    /// The status.
    pub status: u16,
    /// The headers that belong to it.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(before: u32, now: u32, elapsed: f64) -> Usage {
        Usage { counted: false, limit: 10, before, now, elapsed, began: 600 }
    }

    #[test]
    fn the_minute_before_fades() {
        assert_eq!(usage(0, 1, 5.0).remaining(), 9);
        assert_eq!(usage(10, 0, 0.0).remaining(), 0);
        assert_eq!(usage(10, 0, 30.0).remaining(), 5);
        assert_eq!(usage(10, 5, 30.0).remaining(), 0);
    }

    #[test]
    fn whoever_waits_as_told_finds_room() {
        for (before, now, elapsed) in
            [(0, 10, 12.0), (10, 0, 1.0), (10, 3, 20.0), (4, 10, 59.0), (7, 8, 10.0)]
        {
            let wait = usage(before, now, elapsed).wait().as_secs();
            let later = elapsed + f64::from(u32::try_from(wait).unwrap());
            let (before, now, elapsed) =
                if later >= 60.0 { (now, 0, later - 60.0) } else { (before, now, later) };
            let used = f64::from(before) * (1.0 - elapsed / 60.0).max(0.0) + f64::from(now);
            assert!(used + 1.0 <= 10.0 + 1e-9, "{before} {now} {elapsed}: {used} after {wait} s");
        }
        assert_eq!(usage(0, 0, 0.0).wait().as_secs(), 1);
    }
}
