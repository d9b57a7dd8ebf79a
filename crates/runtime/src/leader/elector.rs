//! The task that holds an election: does what the candidacy says, and tells what became of it.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::callbacks::{Drain, Herald, News};
use super::candidacy::{Candidacy, Candidate, Source, Step};
use super::leadership::Leadership;
use super::record::{self, Record};
use super::requests::{Refusal, Requests};
use super::settings::{LeaderElection, random};
use super::state::{LeaderState, LeaseRef};

/// Candidates that wait for the same moment try within this of each other.
const MOST_JITTER_MILLIS: u64 = 100;
/// How long a graceful end may take to release the Lease.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before a release is tried again.
const RELEASE_PAUSE: Duration = Duration::from_millis(200);

/// An instance's part in an election. Dropped, it ends as if the process had died: nobody releases
/// the Lease, and others wait for its duration.
#[derive(Debug)]
#[must_use = "an elector that is dropped takes no part in the election"]
pub struct Elector {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    leadership: Leadership,
}

impl Elector {
    pub(super) fn start(election: LeaderElection, client: Client) -> (Self, Leadership) {
        let identity = election.identity_or_own();
        let namespace = election.namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let lease = LeaseRef { namespace, name: election.name };
        let state = LeaderState::new(identity.clone(), election.group.clone(), Some(lease.clone()));
        let leadership = Leadership::follower(state.clone());
        let candidate = Candidate { identity, group: election.group, standby: election.standby };
        let jitter = Duration::from_millis(random() % MOST_JITTER_MILLIS);
        let (herald, drain) = Herald::start(election.callbacks);
        let part = Part {
            requests: Requests::new(client, lease),
            candidacy: Candidacy::new(candidate, election.timing, jitter),
            lease_duration: election.timing.lease_duration,
            drain,
            drain_timeout: election.drain_timeout,
            lease: None,
            in_doubt: false,
            told_started: false,
            state,
            watch_problem: None,
            leadership: leadership.clone(),
            herald,
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(part.run(stopped));
        (Self { stop: Some(stop), task, leadership: leadership.clone() }, leadership)
    }

    /// The leadership that this elector wins and loses.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Ends this instance's part: it stops leading, releases the Lease if it holds it, so that another
    /// takes over at once, and waits for the callbacks. Let work end before; it cannot write after.
    pub async fn release(mut self) {
        if let Some(stop) = self.stop.take() {
            // It fails only when the task has ended.
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
    }
}

impl Drop for Elector {
    fn drop(&mut self) {
        self.task.abort();
        self.leadership.drop_claim();
    }
}

struct Part {
    requests: Requests,
    candidacy: Candidacy,
    lease_duration: Duration,
    drain: Option<Drain>,
    drain_timeout: Duration,
    /// The Lease as last seen, for its resource version and all that is not ours.
    lease: Option<Lease>,
    /// A write was sent and never answered.
    in_doubt: bool,
    told_started: bool,
    state: LeaderState,
    watch_problem: Option<String>,
    leadership: Leadership,
    herald: Herald,
}

impl Part {
    async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let watch = watcher::watch_object(self.requests.api.clone(), &self.requests.lease.name);
        let mut watch = pin!(watch.default_backoff());
        loop {
            match self.candidacy.next(Instant::now()) {
                Step::Wait(until) => tokio::select! {
                    _ = &mut stop => break,
                    Some(event) = watch.next() => self.watched(event),
                    () = tokio::time::sleep_until(until) => {}
                },
                Step::Look => tokio::select! {
                    biased;
                    _ = &mut stop => break,
                    () = self.look() => {}
                },
                Step::Claim => tokio::select! {
                    biased;
                    _ = &mut stop => break,
                    () = self.claim() => {}
                },
                Step::Release => tokio::select! {
                    biased;
                    _ = &mut stop => break,
                    () = self.release() => {}
                },
                Step::Lose => self.step_down("lost"),
                Step::Yield => tokio::select! {
                    _ = &mut stop => break,
                    () = self.yield_to_preferred() => {}
                },
            }
        }
        self.end().await;
    }

    fn watched(&mut self, event: watcher::Result<Option<Lease>>) {
        match event {
            Ok(Some(lease)) => {
                self.watch_works();
                // A late event must not replace what a request of our own brought since.
                let version = |lease: &Lease| lease.metadata.resource_version.as_ref()?.parse::<u64>().ok();
                let known = self.lease.as_ref().and_then(version);
                if known.is_none_or(|known| version(&lease).is_none_or(|version| version >= known)) {
                    self.saw(Some(lease), Source::Watch);
                }
            }
            // It may be late too, and says not how late.
            Ok(None) => {
                self.watch_works();
                if self.lease.is_some() {
                    self.candidacy.doubt();
                }
            }
            Err(error) => self.watch_failed(&error),
        }
    }

    fn watch_works(&mut self) {
        if self.watch_problem.take().is_some() {
            tracing::info!(lease = %self.requests.lease.name, "the watch of the Lease works again");
        }
    }

    fn watch_failed(&mut self, error: &watcher::Error) {
        let problem = match error {
            watcher::Error::InitialListFailed(error) => self.requests.explain("list", error),
            watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
                self.requests.explain("watch", error)
            }
            other => other.to_string(),
        };
        if self.watch_problem.as_ref() != Some(&problem) {
            tracing::warn!(problem, "cannot watch the Lease; looking at it every retry period instead");
            self.watch_problem = Some(problem);
        }
    }

    async fn look(&mut self) {
        let timeout = self.candidacy.request_timeout(Instant::now());
        match self.requests.read(timeout).await {
            Ok(lease) => {
                self.candidacy.answered();
                self.solved();
                self.saw(lease, Source::Request);
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    async fn claim(&mut self) {
        // Before all else: what happens from here on, a freeze included, shortens the claim.
        let started = Instant::now();
        let timeout = self.candidacy.request_timeout(started);
        let LeaseRef { namespace, name } = &self.requests.lease;
        let lease = self.lease.clone().unwrap_or_else(|| record::fresh(namespace, name));
        let next = record::claimed(&lease, &self.state.identity, self.lease_duration, Timestamp::now());
        self.in_doubt = true;
        let answer = self.requests.write(&next, timeout).await;
        match answer {
            Ok(lease) => {
                self.in_doubt = false;
                let begins = self.candidacy.claimed(started, Instant::now(), Record::of(&lease));
                self.lease = Some(lease);
                if let Some(deadline) = self.candidacy.deadline() {
                    self.leadership.hold(self.candidacy.term(), deadline);
                }
                self.solved();
                self.publish();
                if begins {
                    let term = self.candidacy.term();
                    let lease = &self.requests.lease;
                    tracing::info!(identity = self.state.identity, lease = lease.name, term, "leading");
                    self.told_started = true;
                    self.herald.tell(News::Started(term));
                }
            }
            Err(refusal) => {
                self.in_doubt = matches!(refusal, Refusal::Failed(_));
                self.refused(refusal);
            }
        }
    }

    /// Gives back a Lease that names this instance though it does not lead.
    async fn release(&mut self) {
        let Some(lease) = self.lease.clone() else { return self.candidacy.doubt() };
        let timeout = self.candidacy.request_timeout(Instant::now());
        match self.requests.write(&record::released(&lease, Timestamp::now()), timeout).await {
            Ok(lease) => {
                self.in_doubt = false;
                self.candidacy.answered();
                self.solved();
                self.saw(Some(lease), Source::Request);
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    fn refused(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Changed => {
                self.candidacy.answered();
                self.candidacy.doubt();
            }
            Refusal::Failed(problem) => {
                self.candidacy.failed(Instant::now());
                if self.in_doubt {
                    self.candidacy.doubt();
                }
                if self.state.problem.as_ref() != Some(&problem) {
                    tracing::warn!(problem, "the leader election is hindered; trying on");
                    self.state.problem = Some(problem);
                    self.publish();
                }
            }
        }
    }

    fn solved(&mut self) {
        if self.state.problem.take().is_some() {
            tracing::info!(lease = %self.requests.lease.name, "the leader election goes on");
            self.publish();
        }
    }

    fn saw(&mut self, lease: Option<Lease>, source: Source) {
        self.candidacy.saw(Instant::now(), lease.as_ref().map(Record::of), source);
        self.lease = lease;
        self.publish();
    }

    /// Tells what is known now.
    fn publish(&mut self) {
        let leader = self.candidacy.holder().map(ToOwned::to_owned);
        let news = leader.clone().filter(|_| leader != self.state.leader);
        let record = self.candidacy.record();
        self.state = LeaderState {
            is_leader: self.leadership.is_leader(),
            leader,
            preferred_group: record.and_then(|record| record.preferred_group.clone()),
            term: self.candidacy.term(),
            transitions: record.map_or(0, |record| record.transitions),
            acquired_at: record.and_then(|record| record.acquired),
            renewed_at: record.and_then(|record| record.renewed),
            ..self.state.clone()
        };
        self.leadership.publish(self.state.clone());
        if let Some(identity) = news {
            self.herald.tell(News::NewLeader(identity));
        }
    }

    fn step_down(&mut self, why: &str) {
        self.leadership.drop_claim();
        self.candidacy.stepped_down();
        self.publish();
        tracing::warn!(
            identity = self.state.identity,
            lease = self.requests.lease.name,
            leader = self.state.leader,
            why,
            "not leading any more"
        );
        self.tell_stopped();
    }

    fn tell_stopped(&mut self) {
        if std::mem::take(&mut self.told_started) {
            self.herald.tell(News::Stopped);
        }
    }

    async fn yield_to_preferred(&mut self) {
        self.leadership.end();
        self.publish();
        tracing::info!(
            identity = self.state.identity,
            preferred = self.state.preferred_group,
            "yielding to the preferred group"
        );
        self.tell_stopped();
        if let Some(drain) = &self.drain {
            // What is still to be written must be so while the Lease is surely held.
            let left =
                self.candidacy.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = self.drain_timeout.min(left.unwrap_or_default());
            if tokio::time::timeout(timeout, drain()).await.is_err() {
                tracing::warn!("work has not ended in {timeout:.1?}; releasing the Lease all the same");
            }
        }
        self.leadership.drop_claim();
        self.candidacy.stepped_down();
        self.publish();
    }

    /// The graceful end.
    async fn end(mut self) {
        self.leadership.drop_claim();
        self.candidacy.stepped_down();
        self.publish();
        self.tell_stopped();
        if self.in_doubt || self.candidacy.is_holder() {
            let release = tokio::time::timeout(RELEASE_TIMEOUT, self.release_surely());
            if release.await.is_err() {
                let lease = &self.requests.lease.name;
                tracing::warn!(lease, "could not release the Lease; others wait for its duration");
            }
        }
        self.herald.finish().await;
    }

    /// Releases the Lease, whatever came of writes without an answer.
    async fn release_surely(&mut self) {
        let mut known = self.lease.clone().filter(|_| !self.in_doubt);
        loop {
            let timeout = self.candidacy.request_timeout(Instant::now());
            let lease = match known.take() {
                Some(lease) => Ok(Some(lease)),
                None => self.requests.read(timeout).await,
            };
            let written = match lease {
                Ok(Some(lease)) if Record::of(&lease).holder.as_ref() == Some(&self.state.identity) => {
                    self.requests.write(&record::released(&lease, Timestamp::now()), timeout).await
                }
                Ok(_) => return,
                Err(refusal) => Err(refusal),
            };
            match written {
                Ok(lease) => return self.saw(Some(lease), Source::Request),
                Err(Refusal::Changed) => {}
                Err(Refusal::Failed(_)) => tokio::time::sleep(RELEASE_PAUSE).await,
            }
        }
    }
}
