//! Deployments as people read them.

use std::fmt::Write as _;

use jiff::Timestamp;
use slipway_contract::deployments::{
    CancelReply, ClusterRollout, ClusterRolloutStatus, DeploymentDetailReply, DeploymentList,
    DeploymentReply, DeploymentStatus, DeploymentStep, NewsReply, RollbackReply, RollbackStatusReply,
    StepResult, StepsReply,
};

use super::view::{Look, counted, short, view};
use crate::cli::relative::ago;
use crate::cli::table::{Cell, Tone, table};

pub(super) fn listed(list: &DeploymentList, now: Timestamp) -> String {
    let row = |one: &DeploymentReply| {
        let clusters = one.target_clusters.len();
        vec![
            Cell::from(short(one.deployment_id)),
            Cell::from(&one.operator_name),
            Cell::from(&one.target_version),
            Cell::from(format!("{:?}", one.strategy)),
            status(one),
            Cell::from(format!("{} of {}", one.successful_clusters, counted(clusters, "cluster"))),
            Cell::from(&one.initiated_by),
            Cell::from(ago(one.started_at, now)),
        ]
    };
    let headings = ["DEPLOYMENT", "OPERATOR", "VERSION", "STRATEGY", "STATUS", "DONE", "STARTED BY", "WHEN"];
    let none = "no deployments; begin one: slipway deploy OPERATOR VERSION --clusters all";
    let mut text = table(&headings, list.deployments.iter().map(row), none);
    if let Some(next) = list.page.next_offset {
        let _ = writeln!(text, "{} of {}; more: --offset {next}", list.deployments.len(), list.page.total);
    }
    text
}

fn status(one: &DeploymentReply) -> Cell {
    let tone = match one.status {
        DeploymentStatus::Completed => Tone::Good,
        DeploymentStatus::Failed | DeploymentStatus::RolledBack => Tone::Bad,
        DeploymentStatus::RollingBack => Tone::Warning,
        DeploymentStatus::Cancelled => Tone::Quiet,
        _ => Tone::Plain,
    };
    match &one.paused {
        Some(_) => Cell::new(format!("{:?}, paused", one.status), Tone::Warning),
        None => Cell::new(format!("{:?}", one.status), tone),
    }
}

/// All that is known, the picture first.
pub(super) fn shown(detail: &DeploymentDetailReply, now: Timestamp, look: Look) -> String {
    let mut text: String = view(detail, now, look).iter().map(|line| format!("{line}\n")).collect();
    let deployment = &detail.deployment;
    let _ = writeln!(
        text,
        "  started by {}, {} ({})",
        deployment.initiated_by,
        ago(deployment.started_at, now),
        deployment.started_at
    );
    if let Some(reason) = &detail.emergency {
        let _ = writeln!(text, "  approvals were passed by in an emergency: {reason}");
    }
    if let Some(by) = &detail.approved_by {
        let _ = writeln!(text, "  approved by {by}");
    }
    text.push('\n');
    let rows = detail.cluster_statuses.iter().map(|cluster| row(cluster, now));
    text.push_str(&table(&["CLUSTER", "ENVIRONMENT", "WAVE", "STATUS", "SINCE", "BEFORE", ""], rows, ""));
    for cluster in detail.cluster_statuses.iter().filter(|cluster| !cluster.notes.is_empty()) {
        for note in &cluster.notes {
            let _ = writeln!(text, "  {}: {note}", cluster.cluster_name);
        }
    }
    if !deployment.status.is_end() {
        let _ = writeln!(text, "why: slipway deployment why {}", short(deployment.deployment_id));
    }
    text
}

fn row(cluster: &ClusterRollout, now: Timestamp) -> Vec<Cell> {
    let tone = match cluster.status {
        ClusterRolloutStatus::Completed => Tone::Good,
        ClusterRolloutStatus::Failed | ClusterRolloutStatus::RollbackFailed => Tone::Bad,
        ClusterRolloutStatus::Quarantined | ClusterRolloutStatus::GivenUp => Tone::Warning,
        _ => Tone::Plain,
    };
    let said = cluster.health_check.as_ref().and_then(|health| health.message.clone());
    let step = cluster.step.as_ref().map(|step| step.text.clone());
    let detail = cluster.error_message.clone().or(step).or(said).unwrap_or_default();
    vec![
        (&cluster.cluster_name).into(),
        format!("{:?}", cluster.environment).into(),
        cluster.wave.map(|wave| wave.to_string()).into(),
        Cell::new(format!("{:?}", cluster.status), tone),
        ago(cluster.since, now).into(),
        cluster.previous_version.clone().into(),
        detail.into(),
    ]
}

/// What became of a command, and the next one.
pub(super) fn told(reply: &DeploymentReply, what: &str, next: &str) -> String {
    let id = short(reply.deployment_id);
    format!(
        "{} {} {what}\n  {next}: slipway deployment {next} {id}\n",
        reply.operator_name, reply.target_version
    )
}

pub(super) fn cancelled(reply: &CancelReply) -> String {
    match reply.finishing.as_slice() {
        [] => "it is cancelled; nothing was being changed\n".to_owned(),
        finishing => format!("it is cancelled as soon as {} finished\n", finishing.join(", ")),
    }
}

pub(super) fn rolling_back(reply: &RollbackReply) -> String {
    let id = short(reply.deployment_id);
    format!(
        "taking back {}: {}\n  follow it: slipway deployment watch {id}\n",
        reply.target_clusters.join(", "),
        reply.rollback_reason
    )
}

pub(super) fn rollback_status(reply: &RollbackStatusReply) -> String {
    let total = reply.rolled_back.len() + reply.rolling_back.len() + reply.waiting.len() + reply.failed.len();
    if total == 0 {
        return format!("nothing of it is taken back; it is {:?}\n", reply.status);
    }
    let mut text = format!("{} of {} back\n", reply.rolled_back.len(), counted(total, "cluster"));
    let lists = [("going", &reply.rolling_back), ("waits", &reply.waiting), ("back", &reply.rolled_back)];
    for (word, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(text, "  {word:<8}  {}", names.join(", "));
    }
    for one in &reply.failed {
        let _ = writeln!(text, "  {:<8}  {}: {}", "stuck", one.cluster_name, one.message);
    }
    if let Some(reason) = &reply.rollback_reason {
        let _ = writeln!(text, "  because   {reason}");
    }
    text
}

pub(super) fn log(reply: &NewsReply) -> String {
    let mut text = String::new();
    for one in &reply.news {
        let place = one.cluster_name.as_ref().map(|name| format!("{name}  ")).unwrap_or_default();
        let at = one.at.strftime("%Y-%m-%dT%H:%M:%SZ");
        let _ = writeln!(text, "{at}  {place}{}", one.text.replace(char::is_control, " "));
    }
    if text.is_empty() {
        text.push_str("nothing happened yet\n");
    }
    text
}

pub(super) fn steps(reply: &StepsReply, now: Timestamp) -> String {
    let row = |step: &DeploymentStep| {
        let (word, tone) = match step.result {
            None if step.begun_at.is_some() => ("going on", Tone::Plain),
            None => ("intended", Tone::Quiet),
            Some(StepResult::Done) => ("done", Tone::Good),
            Some(StepResult::Refused) => ("refused", Tone::Bad),
            Some(StepResult::Unreachable) => ("unreachable", Tone::Warning),
            Some(StepResult::Hiccup) => ("hiccup", Tone::Warning),
            Some(StepResult::Lost) => ("lost", Tone::Warning),
            Some(StepResult::Failed) => ("failed", Tone::Bad),
        };
        let took = match (step.begun_at, step.ended_at) {
            (Some(begun), Some(ended)) => {
                Some(format!("{:.1} s", ended.duration_since(begun).as_secs_f64().max(0.0)))
            }
            _ => None,
        };
        vec![
            (&step.cluster_name).into(),
            (&step.kind).into(),
            step.attempt.to_string().into(),
            Cell::new(word, tone),
            ago(step.intended_at, now).into(),
            took.into(),
            step.message.clone().unwrap_or_default().into(),
        ]
    };
    let headings = ["CLUSTER", "STEP", "ATTEMPT", "RESULT", "WHEN", "TOOK", ""];
    table(&headings, reply.steps.iter().map(row), "nothing was done yet\n")
}
