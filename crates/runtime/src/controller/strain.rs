//! How many objects are worked on at once: fewer while the API server answers slower than it can.
//!
//! An API server that is busy answers eight writers in the time of two, each four times as slowly. Then
//! every object waits longer for its turn to end, and nothing is done sooner. So the share of workers that
//! may begin a turn follows how long writes take: it shrinks fast while they are slow, and grows back
//! slowly. A far-away server that is always slow is not a busy one: slow means slower than it was, too.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Writes that take longer are slow, if they were quicker before.
const SLOW: Duration = Duration::from_millis(100);
/// How much slower than in calm times writes have to be.
const BEYOND_CALM: f64 = 4.0;
/// How much one answer counts among those before.
const WEIGHT: f64 = 0.1;
/// How much of what is new becomes what is usual with each answer.
const FORGETTING: f64 = 0.0005;
/// The share never falls below: who judges wrongly must not stand still.
const LEAST: f64 = 0.25;
/// At most so often it shrinks, and so often it grows.
const SHRINKS: Duration = Duration::from_millis(200);
const GROWS: Duration = Duration::from_millis(500);

/// What the API server bears, for all controllers of a process.
#[derive(Debug)]
pub(crate) struct Strain {
    share: watch::Sender<f64>,
    judgement: Mutex<Judgement>,
}

impl Default for Strain {
    fn default() -> Self {
        Self { share: watch::channel(1.0).0, judgement: Mutex::new(Judgement::new(Instant::now())) }
    }
}

impl Strain {
    /// A write was answered after so long, or refused since there were too many.
    pub(crate) fn saw(&self, elapsed: Duration, throttled: bool) {
        let mut judgement = self.judgement.lock().unwrap_or_else(PoisonError::into_inner);
        judgement.saw(elapsed, throttled, Instant::now());
        let share = judgement.share;
        drop(judgement);
        self.share.send_if_modified(|known| {
            let changed = (*known - share).abs() > f64::EPSILON;
            *known = share;
            changed
        });
    }

    /// Waits until worker `index`, counted from 0, of `all` may begin a turn.
    pub(crate) async fn admit(&self, index: usize, all: usize) {
        let mut shares = self.share.subscribe();
        // The sender lives as long as this does.
        let _ = shares.wait_for(|share| index < workers(all, *share)).await;
    }
}

/// How many of so many workers this share is.
fn workers(all: usize, share: f64) -> usize {
    (1..=all).find(|count| as_number(*count) >= as_number(all) * share - 1e-9).unwrap_or(all).max(1)
}

fn as_number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[derive(Debug)]
struct Judgement {
    share: f64,
    /// Seconds that writes take now, and took when it was calm.
    now: Option<f64>,
    calm: f64,
    changed: Instant,
}

impl Judgement {
    fn new(at: Instant) -> Self {
        Self { share: 1.0, now: None, calm: f64::INFINITY, changed: at }
    }

    fn saw(&mut self, elapsed: Duration, throttled: bool, at: Instant) {
        let took = elapsed.as_secs_f64();
        let now = self.now.map_or(took, |now| now + (took - now) * WEIGHT);
        self.now = Some(now);
        self.calm = if now < self.calm { now } else { self.calm + (now - self.calm) * FORGETTING };
        let since = at.saturating_duration_since(self.changed);
        let slow = now > SLOW.as_secs_f64() && now > self.calm * BEYOND_CALM;
        let quick = now < SLOW.as_secs_f64() / 2.0 || now < self.calm * BEYOND_CALM / 2.0;
        let share = match (throttled || slow, quick) {
            (true, _) if since >= SHRINKS => (self.share * 0.7).max(LEAST),
            (false, true) if since >= GROWS => (self.share + 0.125).min(1.0),
            _ => return,
        };
        if (share - self.share).abs() > f64::EPSILON {
            tracing::debug!(share, milliseconds = now * 1e3, "another share of the workers begins turns");
            (self.share, self.changed) = (share, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each 20 ms, all after the same time; how many of eight workers begin turns after them.
    fn after(judgement: &mut Judgement, at: &mut Instant, milliseconds: u64, times: u32) -> usize {
        for _ in 0..times {
            *at += Duration::from_millis(20);
            judgement.saw(Duration::from_millis(milliseconds), false, *at);
        }
        workers(8, judgement.share)
    }

    fn begun() -> (Judgement, Instant) {
        let at = Instant::now();
        (Judgement::new(at), at)
    }

    #[test]
    fn a_server_that_becomes_slow_gets_less_at_once_and_more_again_when_it_recovers() {
        let (mut judgement, mut at) = begun();
        assert_eq!(after(&mut judgement, &mut at, 8, 50), 8);
        assert_eq!(after(&mut judgement, &mut at, 600, 100), 2, "as little as there is");
        assert!(after(&mut judgement, &mut at, 8, 60) < 8, "it grows slowly");
        assert_eq!(after(&mut judgement, &mut at, 8, 300), 8);
    }

    #[test]
    fn one_slow_answer_says_nothing() {
        let (mut judgement, mut at) = begun();
        after(&mut judgement, &mut at, 8, 50);
        assert_eq!(after(&mut judgement, &mut at, 700, 1), 8);
        assert_eq!(after(&mut judgement, &mut at, 8, 10), 8);
    }

    #[test]
    fn a_server_far_away_is_not_taken_for_a_busy_one() {
        let (mut judgement, mut at) = begun();
        assert_eq!(after(&mut judgement, &mut at, 300, 500), 8);
        // What lasts becomes usual.
        let (mut judgement, mut at) = begun();
        after(&mut judgement, &mut at, 50, 50);
        assert_eq!(after(&mut judgement, &mut at, 300, 200), 2);
        assert_eq!(after(&mut judgement, &mut at, 300, 5000), 8);
    }

    #[test]
    fn who_is_told_to_slow_down_does() {
        let (mut judgement, at) = begun();
        judgement.saw(Duration::from_millis(2), true, at + Duration::from_secs(1));
        assert!(judgement.share < 1.0);
    }

    #[test]
    fn a_share_is_a_number_of_workers_and_never_none() {
        let counts = |all| [1.0, 0.7, 0.49, LEAST].map(|share| workers(all, share));
        assert_eq!(counts(8), [8, 6, 4, 2]);
        assert_eq!(counts(1), [1, 1, 1, 1]);
        assert_eq!(counts(3), [3, 3, 2, 1]);
    }

    #[tokio::test]
    async fn workers_beyond_the_share_wait_until_it_grows() {
        let strain = Strain::default();
        strain.share.send_replace(LEAST);
        strain.admit(1, 8).await;
        let waiting = strain.admit(2, 8);
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        strain.share.send_replace(0.5);
        waiting.await;
    }
}
