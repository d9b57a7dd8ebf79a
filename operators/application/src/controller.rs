//! Brings what an Application asks for about, and reports what came of it.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Value, json};
use slipway_runtime::apply;
use slipway_runtime::controller::{Context, ControllerSpec, Outcome, Predicate, Reconcile};
use slipway_runtime::error::Error;
use slipway_runtime::events::Note;

use crate::children::Children;
use crate::crd::{Application, MANAGED_BY, MANAGER, Phase};
use crate::status::{self, Report};

/// The finalizer that keeps an Application until it was cleaned up.
pub const FINALIZER: &str = "cloudnative.elide.dev/finalizer";

/// Reconciles Applications.
#[derive(Debug, Default, Clone, Copy)]
pub struct ApplicationController;

impl ApplicationController {
    /// The controller, with everything that it watches.
    pub fn spec() -> ControllerSpec<Application> {
        ControllerSpec::new(Self)
            .owns_when::<Deployment>(Predicate::content().or(Predicate::part::<Report>()))
            .owns_when::<ConfigMap>(Predicate::content())
            .owns_when::<Service>(Predicate::content())
            .owns_when::<PodDisruptionBudget>(Predicate::content())
            .finalizer(FINALIZER)
            .child_label(MANAGED_BY, MANAGER)
    }
}

impl Reconcile<Application> for ApplicationController {
    async fn reconcile(
        &self,
        app: Arc<Application>,
        context: Context<Application>,
    ) -> Result<Outcome, Error> {
        let children = Children::of(&app).map_err(|error| Error::permanent(error.to_string()))?;
        // Pods wait for their ConfigMap; nothing else needs another to be there.
        let mut wanted = apply::Children::new().in_any_order();
        wanted
            .add_some(children.config_map.as_ref())?
            .add(&children.deployment)?
            .add(&children.service)?
            .add_some(children.budget.as_ref())?;
        context.apply(wanted).await?;

        let name = children.deployment.metadata.name.as_deref().unwrap_or_default();
        let deployment: Option<Report> = context.part::<Deployment, _>(name)?;
        let status = status::of(&app, deployment.as_ref());
        let before = app.status.as_ref().and_then(|status| status.phase);
        if status.phase != before {
            announce(&context, before, &status);
        }
        Outcome::done().status(&status)
    }

    /// Children go with their owner; what is left to do is to say so.
    async fn cleanup(&self, _: Arc<Application>, context: Context<Application>) -> Result<(), Error> {
        tracing::info!(object = %context.key(), "cleaned up");
        Ok(())
    }

    fn on_failure(&self, _: &Application, _: &Error) -> Value {
        json!({"phase": Phase::Failed})
    }
}

/// Tells a turn for the worse, and the recovery from it. That an Application gets going as it should is
/// what everybody expects, and would be an Event for each of thousands.
fn announce(context: &Context<Application>, before: Option<Phase>, status: &crate::crd::ApplicationStatus) {
    let ready =
        status.conditions.iter().find(|condition| condition.type_ == slipway_runtime::conditions::READY);
    let message = ready.and_then(|ready| ready.message.clone()).unwrap_or_default();
    match (before, status.phase) {
        (_, Some(Phase::Failed)) => context.event(Note::warning("Failed", message)),
        (Some(Phase::Failed), Some(Phase::Running)) => context.event(Note::info("Recovered", message)),
        _ => {}
    }
}
