//! What is reported of an Application, from what its Deployment reports.
//!
//! A pure function: the same Application and the same Deployment always give the same status.

mod report;

use slipway_runtime::conditions::{Condition, PROGRESSING, READY};

use crate::children::selector_string;
use crate::crd::{Application, ApplicationStatus, Phase};

pub use report::Report;
use report::{Condition as Said, Reported};

/// The reasons of conditions.
pub mod reason {
    /// Every pod that should be there is ready.
    pub const SUCCEEDED: &str = "ReconciliationSucceeded";
    /// There shall be no pods, and there are none.
    pub const SCALED_TO_ZERO: &str = "ScaledToZero";
    /// Pods are not ready.
    pub const PODS_NOT_READY: &str = "PodsNotReady";
    /// The pods of the wanted revision are all there.
    pub const AVAILABLE: &str = "NewReplicaSetAvailable";
    /// Pods of the wanted revision are on their way.
    pub const ROLLING_OUT: &str = "RollingOut";
    /// The Deployment does not get any further.
    pub const STUCK: &str = "ProgressDeadlineExceeded";
    /// Pods cannot be made.
    pub const CANNOT_CREATE: &str = "ReplicaFailure";
}

/// The status of an Application whose Deployment is like this.
pub fn of(app: &Application, deployment: Option<&Report>) -> ApplicationStatus {
    let wanted = app.spec.replicas;
    let view = View::of(wanted, deployment);
    let ready_message = format!("{} of {wanted} pods are ready", view.ready);
    let (phase, ready, progressing) = if let Some((why, message)) = &view.stuck {
        (
            Phase::Failed,
            Condition::fails(READY, why, message.clone()),
            Condition::fails(PROGRESSING, why, message.clone()),
        )
    } else if view.rolled_out {
        let progressing =
            Condition::fails(PROGRESSING, reason::AVAILABLE, "every pod is of the wanted revision");
        if view.ready >= wanted {
            let why = if wanted == 0 { reason::SCALED_TO_ZERO } else { reason::SUCCEEDED };
            (Phase::Running, Condition::holds(READY, why, ready_message), progressing)
        } else {
            let phase = if view.available { Phase::Running } else { Phase::Pending };
            (phase, Condition::fails(READY, reason::PODS_NOT_READY, ready_message), progressing)
        }
    } else {
        let message = format!("{} of {wanted} pods are of the wanted revision", view.updated);
        (
            Phase::Pending,
            Condition::fails(READY, reason::ROLLING_OUT, ready_message),
            Condition::holds(PROGRESSING, reason::ROLLING_OUT, message),
        )
    };
    ApplicationStatus {
        observed_generation: app.metadata.generation,
        replicas: Some(view.pods),
        ready_replicas: Some(view.ready),
        phase: Some(phase),
        conditions: vec![ready, progressing],
        label_selector: Some(selector_string(app)),
    }
}

/// What a Deployment says, as far as it is about what is wanted now.
#[derive(Debug, Default)]
struct View {
    pods: i32,
    updated: i32,
    ready: i32,
    /// Whether all pods are of the wanted revision, and no others are left.
    rolled_out: bool,
    /// Whether enough pods are there to serve.
    available: bool,
    /// Why it gets no further.
    stuck: Option<(&'static str, String)>,
}

impl View {
    fn of(wanted: i32, deployment: Option<&Report>) -> Self {
        let Some(Report { metadata, spec, status }) = deployment else { return Self::default() };
        // What was said of an earlier generation says nothing of this one.
        let current = status.observed_generation >= metadata.generation && spec.replicas == Some(wanted);
        let (pods, updated) = (status.replicas, status.updated_replicas);
        Self {
            pods,
            updated,
            ready: status.ready_replicas,
            rolled_out: current && updated == wanted && pods == wanted && is_complete(status, wanted),
            available: holds(status, "Available", "True").is_some(),
            stuck: current.then(|| stuck(status)).flatten(),
        }
    }
}

/// Whether the rollout reached its end once, even if a pod failed since.
fn is_complete(status: &Reported, wanted: i32) -> bool {
    status.ready_replicas >= wanted
        || holds(status, "Progressing", "True")
            .is_some_and(|condition| condition.reason.as_deref() == Some("NewReplicaSetAvailable"))
}

fn stuck(status: &Reported) -> Option<(&'static str, String)> {
    let failure = holds(status, "ReplicaFailure", "True").map(|condition| (reason::CANNOT_CREATE, condition));
    let found =
        failure.or_else(|| holds(status, "Progressing", "False").map(|condition| (reason::STUCK, condition)));
    found.map(|(why, condition)| {
        (why, condition.message.clone().unwrap_or_else(|| "the Deployment gets no further".to_owned()))
    })
}

fn holds<'a>(status: &'a Reported, type_: &str, value: &str) -> Option<&'a Said> {
    status.conditions.iter().find(|condition| condition.type_ == type_ && condition.status == value)
}
