//! Drives rollouts: decide, commit, act, record.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::id::RolloutId;
use slipway_domain::rollout::{
    ActKey, Action, Consent, Decision, Facts, News, Outcome, Part, Phase, State, decide,
};
use tracing::{Instrument as _, debug, info_span};

use super::ledger::Ledger;
use super::world::World;
use super::{asking, deciding, looking, parts_of, step_of, stepping, trace};
use crate::changes::Changeset;
use crate::error::Error;
use crate::ports::StoreError;
use crate::ports::fleet::Acted;
use crate::ports::store::{Claim, Happened, Rollout, RolloutWrite, StepRow};
use crate::workers::Next;

/// So often what came of a step is tried to be written before the step is given back.
const TRIES: u32 = 3;

/// How soon a step is gone on with that another server began, where it is not known what came of it.
const AGAIN: Duration = Duration::from_secs(5);

/// Drives rollouts. It holds nothing: all that it knows is in the rows.
#[derive(Clone)]
pub struct Engine {
    ledger: Arc<dyn Ledger>,
    world: Arc<dyn World>,
}

impl Engine {
    /// On these rows, in this world.
    pub fn new(ledger: Arc<dyn Ledger>, world: Arc<dyn World>) -> Self {
        Self { ledger, world }
    }

    /// Decides about a rollout once: commits what was decided with its intents, and says when to decide again.
    pub async fn tick(&self, claim: &Claim) -> Result<Next, Error> {
        let Ok(id) = claim.work.key.parse::<RolloutId>() else { return Ok(Next::Ended) };
        let Some(before) = self.ledger.rollout(id).await? else { return Ok(Next::Ended) };
        let facts = self.facts(&before).await?;
        let now = self.ledger.time().await?;
        let decision = decide(before.state.clone(), &facts, now);
        let due = decision.due;
        if let Some(ended) = self.commit(&before, decision, claim, now).await? {
            self.world.follow_up(&before, &ended).await?;
        }
        Ok(next(due, now))
    }

    /// All that a decision about a rollout is made on.
    pub async fn facts(&self, rollout: &Rollout) -> Result<Facts, Error> {
        let recorded = self.ledger.recorded(rollout.id).await?;
        Ok(Facts {
            reports: recorded.reports,
            observations: recorded.observations,
            measurements: recorded.measurements,
            consent: self.consent(rollout).await?,
            windows: self.world.windows().await?,
            commands: recorded.commands,
        })
    }

    /// The same, without asking anybody anything new: for those who only look.
    pub async fn seen_facts(&self, rollout: &Rollout) -> Result<Facts, Error> {
        if rollout.state.status.is_end() {
            return Ok(Facts { windows: self.world.windows().await?, ..Facts::default() });
        }
        self.facts(rollout).await
    }

    /// What people say, while somebody has to be asked.
    async fn consent(&self, rollout: &Rollout) -> Result<Option<(u32, Consent)>, Error> {
        let state = &rollout.state;
        if state.plan.is_none() || !asks(state) {
            return Ok(None);
        }
        Ok(Some((state.asks, self.world.consent(rollout).await?)))
    }

    /// Writes a decision with everything that follows from it; nothing where nothing was decided. The rollout as it
    /// is then, if it has ended. States are large, so they are moved rather than copied.
    async fn commit(
        &self,
        before: &Rollout,
        decision: Decision,
        claim: &Claim,
        now: Timestamp,
    ) -> Result<Option<Rollout>, Error> {
        let mut decision = decision;
        if decision.actions.is_empty() && decision.news.is_empty() {
            let at = std::mem::replace(&mut decision.state.at, before.state.at);
            if decision.state == before.state {
                return Ok(None);
            }
            decision.state.at = at;
        }
        let changes = Changeset::new().fenced(claim.fence());
        let changes = self.world.tell(before, &decision, changes).await?;
        let Decision { state, actions, news, .. } = decision;
        let mut after = with_state(before, state);
        if after.started_at.is_none() && after.state.touched() {
            after.started_at = Some(now);
        }
        let ended = after.state.status.is_end();
        if ended != before.state.status.is_end() || (ended && after.state.status != before.state.status) {
            after.ended_at = ended.then_some(now);
        }
        let id = before.id;
        let happened =
            |news: News| Happened { kind: news.kind.to_owned(), cluster: news.cluster, text: news.text };
        let follows = ended.then(|| Rollout { version: after.version + 1, ..after.clone() });
        let news = news.into_iter().map(happened).collect();
        let mut changes = changes.write(RolloutWrite::Decide { rollout: Box::new(after), news });
        for action in &actions {
            changes = intend(changes, id, action, now);
        }
        self.ledger.commit(changes).await?;
        Ok(follows)
    }

    /// Does a step, or goes on with one that another server began.
    pub async fn step(&self, claim: &Claim) -> Result<Next, Error> {
        let Some((id, key)) = parts_of(&claim.work.key).and_then(|(id, rest)| Some((id, step_of(rest)?)))
        else {
            return Ok(Next::Ended);
        };
        let (Some(rollout), Some(mut step)) =
            (self.ledger.rollout_about(id, &key.cluster).await?, self.ledger.step(id, &key).await?)
        else {
            return Ok(Next::Ended);
        };
        // What only reads is not done where nobody waits for it any more: it ended, or was cancelled.
        if step.outcome.is_some() || !(key.kind.changes() || is_open(&rollout.state, &key)) {
            return Ok(Next::Ended);
        }
        // Whoever began it under another epoch may still be at it.
        let resumed = step.begun.is_some();
        // Its time counts from its beginning: one that waited for a free place loses none of it. Whoever goes
        // on with it reckons from what was recorded then, which is never earlier.
        let begun = match step.begun_at {
            Some(begun) => begun,
            None => self.ledger.time().await?,
        };
        let span = step.deadline.duration_since(step.intended_at);
        step.deadline = step.deadline.max(begun.checked_add(span).unwrap_or(Timestamp::MAX));
        let begin = RolloutWrite::BeginStep { rollout: id, key: key.clone(), epoch: claim.epoch };
        self.ledger.commit(Changeset::new().fenced(claim.fence()).write(begin)).await?;
        // Whoever acts says so where they act: what comes later with an older epoch is nobody's any more.
        step.begun = Some(claim.epoch);
        let now = self.ledger.time().await?;
        let span = info_span!(
            "operator.deploy.step",
            deploymentId = %id,
            operatorName = %rollout.state.spec.operator,
            version = %rollout.state.spec.version,
            cluster = %key.cluster,
            step = ?key.kind,
            attempt = key.attempt,
        );
        trace::link(&span, rollout.trace.as_deref());
        let acted = self.world.act(&rollout, &step, now, resumed).instrument(span).await?;
        if resumed && key.kind.changes() && is_unsure(&acted.outcome) {
            // Another server may still be at it, so nothing is said of it before it is provably over: whoever
            // tries under another number would not know.
            let left = step.deadline.duration_since(self.ledger.time().await?);
            if left.is_positive() {
                return Ok(Next::After(AGAIN.min(Duration::try_from(left).unwrap_or_default())));
            }
        }
        self.record(claim, &rollout, &step, &acted).await?;
        Ok(Next::Ended)
    }

    /// Writes what came of a step. What is written with it may have changed at that moment and is then looked up
    /// again: whoever would do the step over would have to make sure first that nobody is at it any more.
    async fn record(
        &self,
        claim: &Claim,
        rollout: &Rollout,
        step: &StepRow,
        acted: &Acted,
    ) -> Result<(), Error> {
        let id = rollout.id;
        for tries in 1.. {
            let end = RolloutWrite::EndStep {
                rollout: id,
                key: step.key.clone(),
                outcome: Box::new(acted.outcome.clone()),
            };
            let now = self.ledger.time().await?;
            let changes = Changeset::new()
                .fenced(claim.fence())
                .write(end)
                .end(claim.work.clone())
                .due(deciding(id), now);
            let changes = self.world.acted(rollout, step, acted, changes).await?;
            match self.ledger.commit(changes).await {
                Ok(()) => break,
                Err(error) if tries == TRIES || matches!(error, StoreError::Fenced) => {
                    return Err(error.into());
                }
                Err(error) => debug!(%error, tries, "what came of a step could not be written yet"),
            }
        }
        Ok(())
    }

    /// Looks at a cluster for a rollout.
    pub async fn look(&self, claim: &Claim) -> Result<Next, Error> {
        let Some((id, cluster)) =
            parts_of(&claim.work.key).and_then(|(id, rest)| Some((id, rest.parse().ok()?)))
        else {
            return Ok(Next::Ended);
        };
        let Some(rollout) = self.ledger.rollout_about(id, &cluster).await? else { return Ok(Next::Ended) };
        let Some(state) = rollout.state.clusters.get(&cluster) else { return Ok(Next::Ended) };
        let now = self.ledger.time().await?;
        let seen = self.world.look(&rollout, &cluster, state.revision.as_ref(), now).await?;
        let observe = RolloutWrite::Observe { rollout: id, cluster, observation: seen };
        self.answered(id, claim, observe).await
    }

    /// Asks a gate for a rollout.
    pub async fn gate(&self, claim: &Claim) -> Result<Next, Error> {
        let Some((id, name)) = parts_of(&claim.work.key) else { return Ok(Next::Ended) };
        let Some(rollout) = self.ledger.rollout(id).await? else { return Ok(Next::Ended) };
        let gates = &rollout.state.spec.settings.gates;
        let Some(gate) = gates.iter().find(|gate| gate.name == name) else { return Ok(Next::Ended) };
        let now = self.ledger.time().await?;
        let measurement = self.world.measure(gate, now).await?;
        let measure = RolloutWrite::Measure { rollout: id, gate: gate.name.clone(), measurement };
        self.answered(id, claim, measure).await
    }

    async fn answered(&self, id: RolloutId, claim: &Claim, write: RolloutWrite) -> Result<Next, Error> {
        let now = self.ledger.time().await?;
        let changes = Changeset::new().fenced(claim.fence()).write(write).due(deciding(id), now);
        match self.ledger.commit(changes).await {
            Ok(()) => Ok(Next::Ended),
            Err(StoreError::Fenced) => {
                debug!("another server looks; what was seen here is not needed");
                Ok(Next::Ended)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What an action comes down to: an intent with its work, or a look that somebody makes.
fn intend(changes: Changeset, id: RolloutId, action: &Action, now: Timestamp) -> Changeset {
    match action {
        Action::Act { key, deadline } => changes
            .write(RolloutWrite::Intend { rollout: id, key: key.clone(), deadline: *deadline })
            .due(stepping(id, key), now),
        Action::Look { cluster, .. } => changes.due(looking(id, cluster), now),
        Action::Measure { gate } => changes.due(asking(id, gate), now),
        // People are asked, level by level, whenever a decision waits for them.
        Action::Ask { .. } => changes.due(deciding(id), now),
    }
}

/// Whether a step is what was decided.
fn is_open(state: &State, key: &ActKey) -> bool {
    let open = state.clusters.get(&key.cluster).and_then(|cluster| cluster.step.as_ref());
    open.is_some_and(|step| step.kind == key.kind && step.attempt == key.attempt)
}

/// Whether it may still have been done, or be done by somebody else.
fn is_unsure(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unreachable { .. } | Outcome::Hiccup { .. })
}

/// Whether a decision may wait for people now.
fn asks(state: &State) -> bool {
    matches!(state.phase, Phase::Consent | Phase::Wave { part: Part::Opening, .. })
}

/// The same rollout in another state; the old one is not copied only to be thrown away.
fn with_state(rollout: &Rollout, state: State) -> Rollout {
    Rollout {
        id: rollout.id,
        operator: rollout.operator,
        state,
        placements: rollout.placements.clone(),
        previous_version: rollout.previous_version.clone(),
        starter: rollout.starter.clone(),
        emergency: rollout.emergency.clone(),
        may_delete: rollout.may_delete.clone(),
        trace: rollout.trace.clone(),
        created_at: rollout.created_at,
        started_at: rollout.started_at,
        ended_at: rollout.ended_at,
        version: rollout.version,
    }
}

fn next(due: Option<Timestamp>, now: Timestamp) -> Next {
    let Some(due) = due else { return Next::Ended };
    Next::After(Duration::try_from(due.duration_since(now)).unwrap_or_default())
}
