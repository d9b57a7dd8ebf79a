//! The clusters of a wave on one line: each by name where there is room, else in numbers.

use slipway_contract::deployments::{
    ClusterRollout, ClusterRolloutStatus as Status, DeploymentDetailReply, DeploymentWave, HealthWord,
    WaveKind, WaveState,
};

use super::line::width;
use super::{Look, counted};

/// Names beyond this many signs become numbers.
const ROOM: usize = 46;

/// The clusters of a wave, as they are shown.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) total: usize,
    pub(super) done: usize,
    pub(super) failed: usize,
    /// Whether nobody looked at their health.
    pub(super) unchecked: bool,
}

/// `wave 2`; what is done where that is not simply a change.
pub(super) fn title(wave: &DeploymentWave) -> String {
    match wave.kind {
        WaveKind::Change => format!("wave {}", wave.number),
        WaveKind::Prepare => "green".to_owned(),
        WaveKind::Switch => "switch".to_owned(),
    }
}

pub(super) fn of_wave(wave: &DeploymentWave, detail: &DeploymentDetailReply, look: Look) -> Shown {
    let find = |name: &String| detail.cluster_statuses.iter().find(|one| one.cluster_name == *name);
    let clusters: Vec<&ClusterRollout> = wave.clusters.iter().filter_map(find).collect();
    let count = |wanted: &dyn Fn(&ClusterRollout) -> bool| clusters.iter().filter(|one| wanted(one)).count();
    let (total, done) = (clusters.len(), count(&|one| is_done(one, wave.kind)));
    let failed = count(&|one| matches!(one.status, Status::Failed | Status::RollbackFailed));
    let unchecked = clusters
        .iter()
        .all(|one| one.health_check.as_ref().is_some_and(|health| health.status == HealthWord::NotChecked));
    let named: Vec<String> = clusters.iter().map(|one| item(one, wave, look)).collect();
    let named = named.join("  ");
    let text = if width(&named) <= ROOM {
        named
    } else if wave.state == WaveState::Waiting {
        counted(total, "cluster")
    } else {
        numbers(&clusters, wave, look, done)
    };
    Shown { text, total, done, failed, unchecked: unchecked && total > 0 }
}

fn numbers(clusters: &[&ClusterRollout], wave: &DeploymentWave, look: Look, done: usize) -> String {
    let mut text = if done == clusters.len() {
        format!("{} {}", counted(done, "cluster"), sign(look, "✓", "done"))
    } else {
        format!("{done} of {}", counted(clusters.len(), "cluster"))
    };
    // Those first that somebody would ask about.
    let loud = |one: &&&ClusterRollout| matches!(one.status, Status::Failed | Status::RollbackFailed);
    let moving = |one: &&&ClusterRollout| {
        matches!(one.status, Status::Deploying | Status::Validating | Status::RollingBack)
    };
    for cluster in clusters.iter().filter(loud).chain(clusters.iter().filter(moving)) {
        let next = item(cluster, wave, look);
        if width(&text) + width(&next) + 2 > ROOM {
            text.push_str("  …");
            break;
        }
        text.push_str(&format!("  {next}"));
    }
    text
}

/// A cluster and how it is, in a few words.
fn item(cluster: &ClusterRollout, wave: &DeploymentWave, look: Look) -> String {
    let name = &cluster.cluster_name;
    if is_done(cluster, wave.kind) {
        // The sign before the wave says it for all of them.
        if wave.state == WaveState::Passed {
            return name.clone();
        }
        return format!("{name} {}", sign(look, "✓", "done"));
    }
    match cluster.status {
        Status::Pending | Status::Prepared | Status::Completed => name.clone(),
        Status::Failed | Status::RollbackFailed => format!("{name} {}", sign(look, "✗", "failed")),
        Status::Skipped => format!("{name} left out"),
        Status::GivenUp => format!("{name} given up"),
        Status::Quarantined => format!("{name} quarantined"),
        Status::RolledBack => format!("{name} back"),
        Status::Deploying | Status::Validating | Status::RollingBack => format!("{name} {}", doing(cluster)),
    }
}

/// What is going on there, in a word or two.
pub(super) fn doing(cluster: &ClusterRollout) -> String {
    const MOST: usize = 28;
    let step = cluster.step.as_ref().map(|step| {
        let word = match step.kind.as_str() {
            "preflight" => "preflight",
            "snapshot" => "snapshot",
            "crds" => "CRDs",
            "release" => "helm",
            "smoke" => "smoke test",
            "switch" => "switching",
            "restore" => "restoring",
            "switchBack" => "switching back",
            "removeGreen" => "removing green",
            "returnCrds" => "returning CRDs",
            "migrate" => "migrating",
            "retireBlue" => "removing blue",
            _ => step.text.as_str(),
        };
        let again = if step.attempt > 1 { format!(", attempt {}", step.attempt) } else { String::new() };
        format!("{word}{again}")
    });
    let seen = || cluster.health_check.as_ref().and_then(|health| health.message.clone());
    let words = step.or_else(|| seen().filter(|said| width(said) <= MOST));
    words.unwrap_or_else(|| {
        match cluster.status {
            Status::Validating => "settling",
            Status::RollingBack => "going back",
            _ => "begins",
        }
        .to_owned()
    })
}

fn is_done(cluster: &ClusterRollout, kind: WaveKind) -> bool {
    match cluster.status {
        Status::Completed => true,
        Status::Prepared => kind == WaveKind::Prepare,
        _ => false,
    }
}

fn sign(look: Look, glyph: &'static str, word: &'static str) -> &'static str {
    if look.glyphs { glyph } else { word }
}
