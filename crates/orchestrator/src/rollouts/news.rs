//! What a decision brings with it for those who watch and read: events, messages, audit.

use serde_json::{Value, json};
use slipway_domain::access::{Actor, Environment};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::UserId;
use slipway_domain::rollout::{Command, Decision, News, State, Status};

use super::drift::mends;
use super::{deciding, resource, trace};
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::notices::{Audience, RolloutNotice};
use crate::page::Window;
use crate::ports::store::{Rollout, RolloutFilter, RolloutWrite};

/// What a rollout is, in short, for events and the audit.
pub(super) fn shown(rollout: &Rollout, state: &State) -> Value {
    json!({
        "deploymentId": rollout.id,
        "operatorName": state.spec.operator,
        "targetVersion": state.spec.version.to_string(),
        "strategy": state.spec.settings.strategy.kind(),
        "status": state.status,
        "progress": state.progress(),
        "paused": state.paused.is_some(),
    })
}

impl Manager {
    pub(super) async fn rollout_news_of(
        &self,
        before: &Rollout,
        decision: &Decision,
        mut changes: Changeset,
    ) -> Result<Changeset, Error> {
        let state = &decision.state;
        for (index, news) in decision.news.iter().enumerate() {
            let mut data = shown(before, state);
            if let Value::Object(fields) = &mut data {
                fields.insert("text".to_owned(), news.text.clone().into());
                fields.insert("cluster".to_owned(), json!(news.cluster));
            }
            changes = changes.tell(event(before, news.kind, data));
            if news.loud {
                changes = self.loudly(before, state, news, index, changes).await?;
            }
        }
        if state.status != before.state.status {
            let text = state.reason.clone().unwrap_or_default();
            let mut data = shown(before, state);
            if let Value::Object(fields) = &mut data {
                fields.insert("previousStatus".to_owned(), json!(before.state.status));
                fields.insert("text".to_owned(), text.clone().into());
            }
            changes = changes.tell(event(before, "statusChanged", data)).audit(audited(before, state, &text));
        } else if state.progress() != before.state.progress() {
            changes = changes.tell(event(before, "progress", shown(before, state)));
        }
        if !before.state.touched() && state.touched() {
            changes = self.replace_earlier(before, changes).await?;
        }
        Ok(changes)
    }

    async fn loudly(
        &self,
        rollout: &Rollout,
        state: &State,
        news: &News,
        index: usize,
        mut changes: Changeset,
    ) -> Result<Changeset, Error> {
        let notice = RolloutNotice {
            rollout: rollout.id,
            operator: state.spec.operator.to_string(),
            version: state.spec.version.to_string(),
            status: state.status,
            kind: news.kind,
            cluster: news.cluster.as_ref().map(ToString::to_string),
            text: news.text.clone(),
            // The same decision made again has the same number: a message goes out once.
            number: format!("{}.{index}", rollout.version),
        };
        let environments = state.spec.targets.iter().map(|target| target.environment);
        let environment = environments.max().unwrap_or(Environment::Production);
        let audience = Audience::Responsible(environment, rollout.starter.person.map(UserId));
        let notice = notice.notice(&self.settings.public_url);
        for message in self.messages(&notice, &audience).await? {
            changes = changes.send(message);
        }
        Ok(changes)
    }

    /// What was completed there earlier is not taken back any more once this one changes a cluster.
    async fn replace_earlier(&self, rollout: &Rollout, mut changes: Changeset) -> Result<Changeset, Error> {
        // What is mended can still be taken back: the same version is there.
        if mends(rollout) {
            return Ok(changes);
        }
        let filter = RolloutFilter {
            operator: Some(rollout.state.spec.operator.to_string()),
            status: Some(Status::Completed),
            ..RolloutFilter::default()
        };
        let window = Window { limit: Window::MOST, offset: 0 };
        let targets = &rollout.state.clusters;
        for earlier in self.store().rollouts(&filter, window).await?.items {
            let same = earlier.state.clusters.keys().any(|name| targets.contains_key(name));
            if earlier.id == rollout.id || earlier.state.replaced_by.is_some() || !same {
                continue;
            }
            changes = changes
                .write(RolloutWrite::Command {
                    rollout: earlier.id,
                    version: earlier.version,
                    by: rollout.starter.name.clone(),
                    command: Box::new(Command::Supersede { by: rollout.id }),
                })
                .due(deciding(earlier.id), self.now());
        }
        Ok(changes)
    }
}

fn event(rollout: &Rollout, kind: &str, data: Value) -> Event {
    Event { topic: Topic::Deployment, subject: rollout.id.to_string(), kind: kind.to_owned(), data }
}

fn audited(rollout: &Rollout, state: &State, text: &str) -> AuditEntry {
    let result = match state.status {
        Status::Failed | Status::RolledBack | Status::RollingBack => AuditResult::Failure,
        _ => AuditResult::Success,
    };
    let name = format!("{} {}", state.spec.operator, state.spec.version);
    let why = if text.is_empty() { String::new() } else { format!(": {text}") };
    let message = format!("the deployment of {name} is {}{why}", state.status);
    let mut actor = Actor::system("rollouts");
    actor.trace_id = rollout.trace.as_deref().and_then(trace::id);
    AuditEntry::new(&actor, "deployment.status", resource(rollout.id), result, message)
        .changing(Some(shown(rollout, &rollout.state)), Some(shown(rollout, state)))
}
