//! Whether this instance leads, asked by everything that writes.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::LeaderState;

/// A write that was refused since this instance does not lead, or not in the term it began in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotLeader {
    /// Another instance leads, or nobody.
    #[error("this instance does not lead; nothing was sent")]
    NotLeading,
    /// Leadership was lost and won again in between.
    #[error("the work began in term {began} and this is term {current}; nothing was sent")]
    OtherTerm {
        /// The term that the work began in.
        began: u64,
        /// The term now.
        current: u64,
    },
    /// Leadership was lost before the answer came.
    #[error("leadership was lost before the API server answered; the write may or may not have arrived")]
    LostOnTheWay,
}

impl NotLeader {
    /// Whether the API server may have got the write.
    pub fn was_sent(&self) -> bool {
        matches!(self, Self::LostOnTheWay)
    }
}

/// Until when a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Never,
    Deadline(Instant),
    Forever,
}

#[derive(Debug, Clone, Copy)]
struct Claim {
    term: u64,
    until: Until,
    /// What was begun may end, nothing new begins.
    ending: bool,
}

impl Claim {
    fn holds(&self, now: Instant) -> bool {
        match self.until {
            Until::Never => false,
            Until::Deadline(deadline) => now < deadline,
            Until::Forever => true,
        }
    }
}

struct Shared {
    claim: RwLock<Claim>,
    state: watch::Sender<LeaderState>,
}

/// Whether this instance leads: cheap to clone, cheap to ask, right by the clock at every call.
#[derive(Clone)]
pub struct Leadership {
    shared: Arc<Shared>,
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership").field("claim", &self.claim()).finish_non_exhaustive()
    }
}

/// Permission to send one write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permit {
    /// The term it was given in.
    pub(crate) term: u64,
    /// When to ask again; none when it never ends.
    pub(crate) until: Option<Instant>,
}

impl Leadership {
    fn with(claim: Claim, state: LeaderState) -> Self {
        let (state, _) = watch::channel(state);
        Self { shared: Arc::new(Shared { claim: RwLock::new(claim), state }) }
    }

    /// Of an instance that has not been elected yet.
    pub(super) fn follower(state: LeaderState) -> Self {
        Self::with(Claim { term: 0, until: Until::Never, ending: false }, state)
    }

    /// Of an operator without election: it always leads, in term 1.
    pub fn always() -> Self {
        let mut state = LeaderState::new(String::new(), None, None);
        (state.is_leader, state.term) = (true, 1);
        Self::with(Claim { term: 1, until: Until::Forever, ending: false }, state)
    }

    /// One that is given and taken by hand, for tests of what asks it.
    pub fn controlled() -> (Self, LeadershipControl) {
        let leadership = Self::follower(LeaderState::new("test".into(), None, None));
        (leadership.clone(), LeadershipControl { leadership })
    }

    fn claim(&self) -> Claim {
        *self.shared.claim.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this instance leads at this moment, by the monotonic clock.
    pub fn is_leader(&self) -> bool {
        let claim = self.claim();
        !claim.ending && claim.holds(Instant::now())
    }

    /// The number of the last term that this instance led; it grows with each acquisition.
    pub fn term(&self) -> u64 {
        self.claim().term
    }

    /// The term that this instance leads at this moment, if it leads.
    pub fn leading(&self) -> Option<u64> {
        let claim = self.claim();
        (!claim.ending && claim.holds(Instant::now())).then_some(claim.term)
    }

    /// What is known of the election.
    pub fn state(&self) -> LeaderState {
        let is_leader = self.is_leader();
        LeaderState { is_leader, ..self.shared.state.borrow().clone() }
    }

    /// Wakes at each change of who leads, and of what hinders the election. Renewals do not wake it.
    pub fn subscribe(&self) -> watch::Receiver<LeaderState> {
        self.shared.state.subscribe()
    }

    /// Waits until this instance leads, and gives the term.
    pub async fn acquired(&self) -> u64 {
        let mut changes = self.subscribe();
        loop {
            if let Some(term) = self.leading() {
                return term;
            }
            // It cannot fail: the sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    /// Waits until this instance does not lead in this term any more.
    pub async fn lost(&self, term: u64) {
        let mut changes = self.subscribe();
        while self.leading() == Some(term) {
            let deadline = match self.claim().until {
                Until::Deadline(deadline) => deadline,
                Until::Never | Until::Forever => Instant::now() + Duration::from_hours(1),
            };
            // Either wakes the loop, which asks the clock.
            let _ = tokio::time::timeout_at(deadline, changes.changed()).await;
        }
    }

    /// Permission to send a write now, for work that began in `began`, if that is known.
    pub(crate) fn permit(&self, began: Option<u64>) -> Result<Permit, NotLeader> {
        let claim = self.claim();
        if claim.ending || !claim.holds(Instant::now()) {
            return Err(NotLeader::NotLeading);
        }
        match began {
            Some(began) if began != claim.term => Err(NotLeader::OtherTerm { began, current: claim.term }),
            _ => Ok(claim.into()),
        }
    }

    /// Whether a write that was permitted may still go on; it may while the Lease is held, even when
    /// nothing new begins.
    pub(crate) fn extend(&self, permit: Permit) -> Result<Permit, NotLeader> {
        let claim = self.claim();
        if claim.term != permit.term || !claim.holds(Instant::now()) {
            return Err(NotLeader::LostOnTheWay);
        }
        Ok(claim.into())
    }

    /// This instance leads until then, unless renewed.
    pub(super) fn hold(&self, term: u64, until: Instant) {
        self.set(Claim { term, until: Until::Deadline(until), ending: false });
    }

    /// Nothing new begins; what was begun may end while the Lease is held.
    pub(super) fn end(&self) {
        self.set(Claim { ending: true, ..self.claim() });
    }

    /// This instance does not lead.
    pub(super) fn drop_claim(&self) {
        self.set(Claim { until: Until::Never, ending: false, ..self.claim() });
    }

    fn set(&self, claim: Claim) {
        *self.shared.claim.write().unwrap_or_else(PoisonError::into_inner) = claim;
    }

    /// Tells what is known. Renewals are kept without waking anyone.
    pub(super) fn publish(&self, state: LeaderState) {
        self.shared.state.send_if_modified(|known| {
            let renewal = LeaderState { renewed_at: state.renewed_at, ..known.clone() };
            let news = renewal != state;
            *known = state;
            news
        });
    }
}

impl From<Claim> for Permit {
    fn from(claim: Claim) -> Self {
        let until = match claim.until {
            Until::Deadline(deadline) => Some(deadline),
            Until::Never | Until::Forever => None,
        };
        Self { term: claim.term, until }
    }
}

/// Gives and takes a leadership by hand, in tests.
#[derive(Debug)]
pub struct LeadershipControl {
    leadership: Leadership,
}

impl LeadershipControl {
    /// Begins a term that lasts this long.
    pub fn begin(&self, lasts: Duration) -> u64 {
        let term = self.leadership.term() + 1;
        self.leadership.hold(term, Instant::now() + lasts);
        self.publish();
        term
    }

    /// Renews the present term for this long.
    pub fn renew(&self, lasts: Duration) {
        self.leadership.hold(self.leadership.term(), Instant::now() + lasts);
        self.publish();
    }

    /// Ends the term for everything new; what was sent may end.
    pub fn end(&self) {
        self.leadership.end();
        self.publish();
    }

    /// Ends the term at once.
    pub fn lose(&self) {
        self.leadership.drop_claim();
        self.publish();
    }

    fn publish(&self) {
        let mut state = self.leadership.state();
        state.term = self.leadership.term();
        state.leader = state.is_leader.then(|| state.identity.clone());
        self.leadership.publish(state);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_claim_ends_by_the_clock_without_anyone_saying_so() {
        let (leadership, control) = Leadership::controlled();
        assert!(!leadership.is_leader());
        let term = control.begin(10 * SECOND);
        assert_eq!(leadership.leading(), Some(term));
        tokio::time::advance(9 * SECOND).await;
        assert!(leadership.is_leader() && leadership.state().is_leader);
        tokio::time::advance(SECOND).await;
        assert!(!leadership.is_leader() && !leadership.state().is_leader);
        assert_eq!(leadership.permit(None).unwrap_err(), NotLeader::NotLeading);
    }

    #[tokio::test(start_paused = true)]
    async fn work_of_an_earlier_term_gets_no_permit_in_a_later_one() {
        let (leadership, control) = Leadership::controlled();
        let first = control.begin(SECOND);
        control.lose();
        let second = control.begin(SECOND);
        assert!(second > first);
        assert_eq!(
            leadership.permit(Some(first)).unwrap_err(),
            NotLeader::OtherTerm { began: first, current: second }
        );
        assert!(leadership.permit(Some(second)).is_ok() && leadership.permit(None).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_may_end_while_the_lease_is_held_and_nothing_new_begins() {
        let (leadership, control) = Leadership::controlled();
        control.begin(10 * SECOND);
        let permit = leadership.permit(None).unwrap();
        control.end();
        assert!(!leadership.is_leader());
        assert!(leadership.permit(None).is_err());
        assert!(leadership.extend(permit).is_ok());
        control.lose();
        assert_eq!(leadership.extend(permit).unwrap_err(), NotLeader::LostOnTheWay);
    }

    #[tokio::test(start_paused = true)]
    async fn losing_by_the_clock_wakes_those_who_wait_for_it() {
        let (leadership, control) = Leadership::controlled();
        let waiting = tokio::spawn({
            let leadership = leadership.clone();
            async move {
                let term = leadership.acquired().await;
                leadership.lost(term).await;
                term
            }
        });
        tokio::task::yield_now().await;
        let term = control.begin(5 * SECOND);
        assert_eq!(waiting.await.unwrap(), term);
        assert!(!leadership.is_leader());
    }

    #[test]
    fn without_election_it_always_leads() {
        let leadership = Leadership::always();
        assert!(leadership.is_leader() && leadership.permit(Some(1)).is_ok());
        assert_eq!(leadership.permit(None).unwrap().until, None);
    }

    #[test]
    fn a_renewal_is_kept_and_wakes_nobody() {
        let (leadership, _control) = Leadership::controlled();
        let changes = leadership.subscribe();
        let renewed_at = Some(Timestamp::from_second(5).unwrap());
        leadership.publish(LeaderState { renewed_at, ..leadership.state() });
        assert!(!changes.has_changed().unwrap());
        assert_eq!(leadership.state().renewed_at, renewed_at);
        leadership.publish(LeaderState { leader: Some("b".into()), ..leadership.state() });
        assert!(changes.has_changed().unwrap());
    }
}
