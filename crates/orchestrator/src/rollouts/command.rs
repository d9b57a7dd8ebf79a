//! What people do to a rollout: checked, written as a row, followed by the next decision.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::ClusterId;
use slipway_domain::rollout::Command;

use super::news::shown;
use super::{deciding, resource};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::{Rollout, RolloutWrite};

impl Manager {
    /// Pauses, resumes, cancels, retries, skips, promotes, extends or takes back a rollout. Twice is once.
    pub async fn command_rollout(&self, actor: &Actor, id: &str, command: Command) -> Result<Rollout, Error> {
        let action = format!("deployment.{}", command.word());
        self.may_command(actor, &command, &action, id).await?;
        for _ in 0..8 {
            let rollout = self.named_rollout(id).await?;
            command.check(&rollout.state).map_err(|refusal| {
                let text = format!("deployment {} cannot be {}: {refusal}", rollout.id, done(&command));
                Error::new(Code::Conflict, text)
            })?;
            self.still_free(&rollout).await?;
            let mut facts = shown(&rollout, &rollout.state);
            if let (Some(fields), Ok(wanted)) = (facts.as_object_mut(), serde_json::to_value(&command)) {
                fields.insert("command".to_owned(), wanted);
            }
            let message = format!(
                "asked for the deployment of {} {} to be {}",
                rollout.state.spec.operator,
                rollout.state.spec.version,
                done(&command)
            );
            let changes = Changeset::new()
                .write(RolloutWrite::Command {
                    rollout: rollout.id,
                    version: rollout.version,
                    by: actor.name.clone(),
                    command: Box::new(command.clone()),
                })
                .audit(
                    AuditEntry::done(actor, &action, resource(rollout.id), message)
                        .changing(None, Some(facts)),
                )
                .tell(Event {
                    topic: Topic::Deployment,
                    subject: rollout.id.to_string(),
                    kind: "commanded".to_owned(),
                    data: json!({
                        "deploymentId": rollout.id,
                        "command": command.word(),
                        "by": actor.name,
                        "text": format!("{} asked for it to be {}", actor.name, done(&command)),
                    }),
                })
                .due(deciding(rollout.id), self.now());
            match self.store().commit(changes).await {
                Ok(()) => return Ok(rollout),
                // It was decided about at the same moment: look again whether this still makes sense.
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(Code::Conflict, "the deployment changes all the time; try again"))
    }

    async fn may_command(
        &self,
        actor: &Actor,
        command: &Command,
        action: &str,
        id: &str,
    ) -> Result<(), Error> {
        let back = matches!(command, Command::RollBack { .. });
        let permission = if back { Permission::RollBack } else { Permission::Deploy };
        let short: String = id.chars().take(100).collect();
        self.permit(actor, permission, action, &format!("deployment/{short}")).await
    }

    /// A rollout that ended gave its clusters back; nobody else may have them when it is taken up again.
    async fn still_free(&self, rollout: &Rollout) -> Result<(), Error> {
        if !rollout.state.status.is_end() {
            return Ok(());
        }
        let ids: Vec<ClusterId> = rollout.placements.values().map(|placement| placement.cluster).collect();
        let taken = self.store().reservations(rollout.operator, &ids).await?;
        match taken.into_iter().find(|(_, holder)| *holder != rollout.id) {
            None => Ok(()),
            Some((_, holder)) => Err(Error::new(
                Code::DeploymentInProgress,
                format!("deployment {holder} has some of its clusters now; wait for it, or cancel it"),
            )),
        }
    }
}

/// What becomes of a rollout, for sentences.
fn done(command: &Command) -> &'static str {
    match command {
        Command::Pause { .. } => "paused",
        Command::Resume => "resumed",
        Command::Cancel { .. } => "cancelled",
        Command::Retry { .. } => "tried again",
        Command::Skip { .. } => "continued without a cluster",
        Command::Promote => "promoted",
        Command::ExtendSoak { .. } => "watched for longer",
        Command::RollBack { .. } => "rolled back",
        Command::Supersede { .. } => "replaced",
    }
}
