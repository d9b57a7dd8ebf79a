//! One cluster of a deployment.

use serde::Serialize;
use slipway_contract::deployments::{
    ClusterRollout, ClusterRolloutHealth, ClusterRolloutStatus, HealthWord, RunningStep,
};
use slipway_domain::name::Name;
use slipway_domain::rollout::{ClusterState, Stage, State, Watch};

use super::number;

pub(super) fn cluster(state: &State, name: &Name) -> Option<ClusterRollout> {
    let cluster = state.clusters.get(name)?;
    let wave = state.waves.iter().rposition(|wave| wave.clusters.contains(name)).map(number);
    let status = status(cluster);
    let over = matches!(
        cluster.stage,
        Stage::Done
            | Stage::Failed
            | Stage::Skipped
            | Stage::GivenUp
            | Stage::RolledBack
            | Stage::RollbackFailed
    );
    Some(ClusterRollout {
        cluster_name: name.to_string(),
        environment: state.environment(name).into(),
        wave,
        status,
        stage: word(&cluster.stage),
        since: cluster.since,
        started_at: cluster.touched,
        completed_at: over.then_some(cluster.since),
        preflight_at: cluster.fit.as_ref().map(|fit| fit.at),
        step: cluster.step.as_ref().map(|step| RunningStep {
            kind: word(&step.kind),
            text: step.kind.words().to_owned(),
            attempt: step.attempt,
            since: step.since,
            deadline: step.deadline,
        }),
        previous_version: cluster
            .before
            .as_ref()
            .and_then(|before| before.version.as_ref())
            .map(ToString::to_string),
        revision: cluster.revision.as_ref().map(ToString::to_string),
        health_check: health(cluster),
        error_message: cluster.problem.clone(),
        notes: cluster.notes.clone(),
    })
}

fn status(cluster: &ClusterState) -> ClusterRolloutStatus {
    match cluster.stage {
        _ if cluster.failed() => ClusterRolloutStatus::Failed,
        Stage::Waiting => ClusterRolloutStatus::Pending,
        Stage::Quarantined => ClusterRolloutStatus::Quarantined,
        Stage::Snapshot | Stage::Crds | Stage::Release | Stage::Switch => ClusterRolloutStatus::Deploying,
        Stage::Settling | Stage::Smoke => ClusterRolloutStatus::Validating,
        Stage::Prepared => ClusterRolloutStatus::Prepared,
        Stage::Done => ClusterRolloutStatus::Completed,
        Stage::Failed => ClusterRolloutStatus::Failed,
        Stage::Skipped => ClusterRolloutStatus::Skipped,
        Stage::GivenUp => ClusterRolloutStatus::GivenUp,
        Stage::Restore | Stage::SwitchBack | Stage::Recovering | Stage::RemoveGreen | Stage::ReturnCrds => {
            ClusterRolloutStatus::RollingBack
        }
        Stage::RolledBack => ClusterRolloutStatus::RolledBack,
        Stage::RollbackFailed => ClusterRolloutStatus::RollbackFailed,
    }
}

fn health(cluster: &ClusterState) -> Option<ClusterRolloutHealth> {
    let watch = &cluster.watch;
    if *watch == Watch::default() && !cluster.unchecked {
        return None;
    }
    let status = if cluster.unchecked {
        HealthWord::NotChecked
    } else if watch.is_bad() {
        HealthWord::Unhealthy
    } else if watch.passed.is_some() && watch.failures == 0 {
        HealthWord::Healthy
    } else {
        HealthWord::Unknown
    };
    Some(ClusterRolloutHealth {
        status,
        checked_at: watch.seen,
        consecutive_failures: watch.failures,
        unreachable_since: watch.unreachable.or(cluster.unreachable),
        message: watch.text.clone(),
    })
}

/// A word of the domain as it is kept, such as `returnCrds`.
pub(super) fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
