//! The engine's own time per step: what is left where clusters answer at once.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::name::Name;
use slipway_domain::rollout::StepKind;
use slipway_orchestrator::ports::store::StepRow;
use slipway_testkit::postgres::Postgres;

use super::super::seen::Seen;
use super::simulated::Pace;
use super::site::Site;
use super::table::Table;

/// Steps that follow each other without anything in between.
const FOLLOWING: [(StepKind, StepKind); 2] =
    [(StepKind::Snapshot, StepKind::Crds), (StepKind::Crds, StepKind::Release)];

pub(super) async fn measure(postgres: &Postgres, clusters: usize, table: &mut Table) -> anyhow::Result<()> {
    let site = Site::start(postgres, clusters).await?;
    let id = site.begin(0..clusters, 1).await?;
    let server = site.serve(0, Pace { calls: Duration::ZERO, helm: Duration::ZERO })?;
    let servers = [server];
    site.until_completed(1, &servers).await?;
    let steps = site.steps(id).await?;
    let [server] = servers;
    server.stop().await;
    site.close().await;
    let (done, decided) = times(&steps);
    table.spread("engine: a step, from its intent to its outcome", &done, "–");
    table.spread("engine: from an outcome to the next intent", &decided, "–");
    Ok(())
}

/// How long steps took that change something or prepare it, and how long it took to decide about the next one.
fn times(steps: &[StepRow]) -> (Seen, Seen) {
    let mut of_cluster: BTreeMap<&Name, BTreeMap<StepKind, &StepRow>> = BTreeMap::new();
    // Preflights of all clusters run at once and wait for each other.
    for step in steps.iter().filter(|step| step.key.kind != StepKind::Preflight) {
        of_cluster.entry(&step.key.cluster).or_default().insert(step.key.kind, step);
    }
    let (mut done, mut decided) = (Vec::new(), Vec::new());
    for steps in of_cluster.values() {
        done.extend(steps.values().filter_map(|step| between(step.intended_at, step.ended_at?)));
        for (first, second) in FOLLOWING {
            if let (Some(first), Some(second)) = (steps.get(&first), steps.get(&second)) {
                decided.extend(first.ended_at.and_then(|ended| between(ended, second.intended_at)));
            }
        }
    }
    (Seen::new(done), Seen::new(decided))
}

fn between(from: Timestamp, to: Timestamp) -> Option<Duration> {
    Duration::try_from(to.duration_since(from)).ok()
}

#[cfg(test)]
mod tests {
    use slipway_domain::rollout::ActKey;

    use super::*;

    #[test]
    fn a_step_counts_from_intent_to_outcome_and_a_decision_from_outcome_to_intent() {
        let at = |millis: i64| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_millis(millis);
        let step = |kind, intended, ended| StepRow {
            key: ActKey { cluster: "one".parse().unwrap(), kind, attempt: 1 },
            intended_at: at(intended),
            deadline: at(1_000),
            begun: Some(1),
            begun_at: Some(at(intended)),
            outcome: None,
            ended_at: Some(at(ended)),
        };
        let steps = [
            step(StepKind::Preflight, 0, 500),
            step(StepKind::Snapshot, 500, 510),
            step(StepKind::Crds, 513, 533),
            step(StepKind::Release, 540, 545),
        ];
        let (done, decided) = times(&steps);
        assert_eq!((done.len(), done.percentile(99)), (3, Some(Duration::from_millis(20))));
        assert_eq!((decided.len(), decided.percentile(99)), (2, Some(Duration::from_millis(7))));
    }
}
