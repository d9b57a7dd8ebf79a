//! What a candidate knows, and what it does next. No I/O, no clock of its own.
//!
//! The one rule that all safety rests on: a leader leads until its deadline after the *start* of its
//! last successful write; anyone else waits a whole lease duration, which is longer, after the moment
//! it *saw* that write or a later one. Clocks need only run at the same rate.
//!
//! A Lease that is deleted takes the last write out of sight. So whoever makes it anew without leading
//! holds it for a whole lease duration before it leads: by then nobody does who wrote before.

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use super::record::Record;
use super::settings::Timing;

/// Who stands for election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) identity: String,
    pub(super) group: Option<String>,
    pub(super) standby: bool,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing before this moment, unless the watch brings news.
    Wait(Instant),
    /// Read the Lease.
    Look,
    /// Write the Lease as its holder: to make it, to take it or to renew it.
    Claim,
    /// Stop leading: the deadline passed, or another holds the Lease.
    Lose,
    /// Stop leading for a preferred group: let work end first.
    Yield,
    /// Write the Lease without a holder, since this candidate holds it and may not lead.
    Release,
}

/// Where news of the Lease came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The watch.
    Watch,
    /// A read or a write of one's own.
    Request,
}

/// What was last seen of the Lease.
#[derive(Debug, Clone)]
struct Seen {
    record: Option<Record>,
    /// Whether the Lease is there. When it is gone, the record is what it said before.
    exists: bool,
    /// When this candidate first saw it so.
    since: Instant,
}

/// A candidate's knowledge.
#[derive(Debug)]
pub(super) struct Candidacy {
    candidate: Candidate,
    timing: Timing,
    /// Keeps candidates that wait for the same moment apart.
    jitter: Duration,
    seen: Option<Seen>,
    /// The start of the last successful write, while this candidate leads.
    renewed: Option<Instant>,
    term: u64,
    heard: Option<(Instant, Source)>,
    not_before: Option<Instant>,
    must_look: bool,
    /// While somebody may lead by a Lease that was deleted: no term begins before this.
    probation: Option<Instant>,
}

impl Candidacy {
    pub(super) fn new(candidate: Candidate, timing: Timing, jitter: Duration) -> Self {
        Self {
            candidate,
            timing,
            jitter,
            seen: None,
            renewed: None,
            term: 0,
            heard: None,
            not_before: None,
            must_look: false,
            probation: None,
        }
    }

    /// What to do now.
    pub(super) fn next(&self, now: Instant) -> Step {
        match self.deadline() {
            Some(deadline) => self.next_as_leader(now, deadline),
            None => self.next_as_follower(now),
        }
    }

    fn next_as_leader(&self, now: Instant, deadline: Instant) -> Step {
        if now >= deadline || self.held_by_another() {
            return Step::Lose;
        }
        if self.yields() {
            return Step::Yield;
        }
        if let Some(pause) = self.not_before.filter(|pause| now < *pause) {
            return Step::Wait(pause.min(deadline));
        }
        if self.must_look {
            return Step::Look;
        }
        let due = deadline - self.timing.renew_deadline + self.timing.retry_period;
        if now >= due || self.seen.as_ref().is_some_and(|seen| !seen.exists) {
            return Step::Claim;
        }
        Step::Wait(due)
    }

    fn next_as_follower(&self, now: Instant) -> Step {
        if let Some(pause) = self.not_before.filter(|pause| now < *pause) {
            return Step::Wait(pause);
        }
        let (Some(seen), Some((heard, source)), false) = (&self.seen, self.heard, self.must_look) else {
            return Step::Look;
        };
        let may_lead = self.may_lead(seen);
        if !may_lead && seen.exists && self.holds(seen) {
            return Step::Release;
        }
        let attempt = may_lead.then(|| self.attempt_at(seen));
        if attempt.is_some_and(|attempt| now >= attempt) {
            return Step::Claim;
        }
        // A living leader is heard through the watch once in a retry period; when it is silent for
        // longer, either may be dead.
        let silence = match source {
            Source::Watch => self.timing.retry_period * 3 / 2,
            Source::Request => self.timing.retry_period,
        };
        let poll = heard + silence;
        if now >= poll {
            return Step::Look;
        }
        Step::Wait(attempt.map_or(poll, |attempt| attempt.min(poll)))
    }

    /// When a candidate that may lead tries to.
    fn attempt_at(&self, seen: &Seen) -> Instant {
        let Some(record) = &seen.record else { return seen.since };
        let lasts = record.lasts.unwrap_or(self.timing.lease_duration);
        if !seen.exists {
            // A leader that lives makes it anew at once, and should find it free.
            return seen.since + self.timing.retry_period * 2 + self.jitter;
        }
        let free = match &record.holder {
            None => seen.since + self.jitter,
            Some(holder) if *holder == self.candidate.identity => seen.since,
            Some(_) => seen.since + lasts + self.jitter,
        };
        self.probation.map_or(free, |probation| probation.max(free))
    }

    fn may_lead(&self, seen: &Seen) -> bool {
        match seen.record.as_ref().and_then(|record| record.preferred_group.as_ref()) {
            Some(preferred) => self.candidate.group.as_ref() == Some(preferred),
            None => !self.candidate.standby,
        }
    }

    /// Another group is preferred. A standby that leads goes on when no group is preferred any more.
    fn yields(&self) -> bool {
        let preferred = self.record().and_then(|record| record.preferred_group.as_ref());
        preferred.is_some_and(|preferred| self.candidate.group.as_ref() != Some(preferred))
    }

    fn holds(&self, seen: &Seen) -> bool {
        let holder = seen.record.as_ref().and_then(|record| record.holder.as_deref());
        holder == Some(self.candidate.identity.as_str())
    }

    fn held_by_another(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.exists && !self.holds(seen))
    }

    /// The Lease was read, or the watch told of it.
    pub(super) fn saw(&mut self, now: Instant, record: Option<Record>, source: Source) {
        self.heard = Some((now, source));
        self.must_look = false;
        let before = self.seen.take();
        let exists = record.is_some();
        let unchanged = match (&before, &record) {
            (None, _) => false,
            (Some(before), None) => !before.exists,
            (Some(before), Some(record)) => {
                before.exists && before.record.as_ref().is_some_and(|old| old.same_claim(record))
            }
        };
        let since = before.as_ref().filter(|_| unchanged).map_or(now, |before| before.since);
        if exists && before.as_ref().is_some_and(|before| !before.exists && before.record.is_some()) {
            let lasted = before.as_ref().and_then(|before| before.record.as_ref()?.lasts);
            let longest =
                lasted.map_or(self.timing.lease_duration, |lasted| lasted.max(self.timing.lease_duration));
            self.probation = Some(now + longest);
        }
        let record = record.or_else(|| before.and_then(|before| before.record));
        self.seen = Some(Seen { record, exists, since });
    }

    /// What is known may be wrong: look before doing anything else.
    pub(super) fn doubt(&mut self) {
        self.must_look = true;
    }

    /// A request failed: what comes next waits for a retry period.
    pub(super) fn failed(&mut self, now: Instant) {
        self.not_before = Some(now + self.timing.retry_period);
    }

    /// A request was answered, well or not.
    pub(super) fn answered(&mut self) {
        self.not_before = None;
    }

    /// The Lease was written with this candidate as its holder, by a request that began at `started`.
    /// Says whether that began a term; making a deleted Lease anew does not, unless this candidate leads.
    pub(super) fn claimed(&mut self, started: Instant, now: Instant, record: Record) -> bool {
        self.answered();
        self.saw(now, Some(record), Source::Request);
        let begins = self.renewed.is_none();
        if begins && self.probation.is_some_and(|probation| started < probation) {
            return false;
        }
        self.term += u64::from(begins);
        self.renewed = Some(started);
        begins
    }

    /// This candidate leads no longer.
    pub(super) fn stepped_down(&mut self) {
        self.renewed = None;
    }

    /// Until when this candidate leads, if it does.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + self.timing.renew_deadline)
    }

    /// How long a request that begins now may take.
    pub(super) fn request_timeout(&self, now: Instant) -> Duration {
        let most = self.timing.request();
        self.deadline().map_or(most, |deadline| deadline.saturating_duration_since(now).min(most))
    }

    /// The number of the last term.
    pub(super) fn term(&self) -> u64 {
        self.term
    }

    /// What the Lease said last.
    pub(super) fn record(&self) -> Option<&Record> {
        self.seen.as_ref()?.record.as_ref()
    }

    /// Whether the Lease, as last seen, names this candidate.
    pub(super) fn is_holder(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.exists && self.holds(seen))
    }

    /// Who the Lease names, if it is there.
    pub(super) fn holder(&self) -> Option<&str> {
        let seen = self.seen.as_ref().filter(|seen| seen.exists)?;
        seen.record.as_ref()?.holder.as_deref()
    }
}
