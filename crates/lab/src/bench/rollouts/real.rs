//! Rollouts on real control planes through the released server, as somebody sees them who waits.

use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::seen::Seen;
use super::harbour::{Harbour, OPERATOR, name, version};
use super::table::Table;
use super::{Sizes, told};

/// How long the specification has each stage of a canary watched.
const USUAL: Duration = Duration::from_mins(5);
const STAGES: u32 = 3;

pub(super) async fn measure(
    harbour: &Harbour,
    sizes: Sizes,
    soak: Duration,
    began: Instant,
    table: &mut Table,
) -> anyhow::Result<()> {
    let mut next = 0;
    let mut newer = || {
        next += 1;
        version(next)
    };
    let mut alone = Vec::new();
    for _ in 0..sizes.rounds {
        told(began, "one cluster …");
        alone.push(direct(harbour, &newer(), 1).await?);
    }
    let slowest = alone.iter().max().copied().unwrap_or_default();
    table.time(&format!("one cluster, direct, the slowest of {}", alone.len()), slowest, "under 3 min");

    told(began, &format!("{} clusters …", sizes.several));
    let several = direct(harbour, &newer(), sizes.several).await?;
    table.time(&format!("{} clusters, direct", sizes.several), several, "under 15 min");

    let all = harbour.planes();
    told(began, &format!("a canary over {all} clusters …"));
    let request = json!({
        "operatorName": OPERATOR, "targetVersion": newer(), "targetClusters": names(all), "strategy": "Canary",
        "canaryConfig": {
            "stages": [10, 30, 100], "evaluationPeriod": format!("PT{}S", soak.as_secs()),
            "healthCheckInterval": format!("PT{}S", (soak.as_secs() / 2).clamp(1, 30)),
        },
        "autoRollbackWindow": "PT10S",
    });
    let started = Instant::now();
    let (id, _) = harbour.deploy(&request).await?;
    harbour.until_status(&id, "Completed").await?;
    let canary = started.elapsed();
    let watched = format!("canary of {STAGES} stages over {all}, {} s each", soak.as_secs());
    table.time(&watched, canary, "–");
    let reckoned = (canary + STAGES * USUAL).saturating_sub(STAGES * soak);
    table.time("the same with 5 min each, reckoned", reckoned, "under 30 min");

    told(began, &format!("taking it back on {all} clusters …"));
    let asked = Timestamp::now();
    let started = Instant::now();
    harbour.server.post(&format!("deployments/{id}/rollback"), &json!({"reason": "measured"})).await?;
    harbour.until_status(&id, "RolledBack").await?;
    table.time(&format!("rollback on {all} clusters"), started.elapsed(), "under 3 min");
    let steps = harbour.server.read(&format!("deployments/{id}/steps")).await?;
    let (decided, acted) = first_back(&steps).context("nothing was restored")?;
    let since = |from: Timestamp| Duration::try_from(acted.duration_since(from)).unwrap_or_default();
    table.time("rollback: from the request to the first action", since(asked), "–");
    table.time("rollback: from the decision to the first action", since(decided), "under 1 s");
    engine_beside(harbour, &id, table).await
}

/// A direct deployment to the first few clusters: from the request to its end.
async fn direct(harbour: &Harbour, version: &str, clusters: usize) -> anyhow::Result<Duration> {
    let request = json!({
        "operatorName": OPERATOR, "targetVersion": version, "targetClusters": names(clusters),
        "strategy": "Direct", "autoRollbackWindow": "PT10S",
    });
    let started = Instant::now();
    let (id, _) = harbour.deploy(&request).await?;
    harbour.until_status(&id, "Completed").await?;
    Ok(started.elapsed())
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(name).collect()
}

fn time(step: &Value, field: &str) -> Option<Timestamp> {
    step[field].as_str()?.parse().ok()
}

/// When it was decided to restore something, and when that began first. The intent is committed with the decision.
fn first_back(steps: &Value) -> Option<(Timestamp, Timestamp)> {
    let back: Vec<&Value> =
        steps["steps"].as_array()?.iter().filter(|step| step["kind"] == "restore").collect();
    let decided = back.iter().filter_map(|step| time(step, "intendedAt")).min()?;
    let acted = back.iter().filter_map(|step| time(step, "begunAt")).min()?;
    Some((decided, acted))
}

/// How long intents waited before somebody was at them, and what each kind of step took.
async fn engine_beside(harbour: &Harbour, id: &str, table: &mut Table) -> anyhow::Result<()> {
    let steps = harbour.server.read(&format!("deployments/{id}/steps")).await?;
    let steps = steps["steps"].as_array().cloned().unwrap_or_default();
    let span =
        |step: &Value, from, to| Duration::try_from(time(step, to)?.duration_since(time(step, from)?)).ok();
    let waited = steps.iter().filter_map(|step| span(step, "intendedAt", "begunAt")).collect();
    table.spread("canary and rollback: from an intent to its beginning", &Seen::new(waited), "–");
    for kind in ["preflight", "snapshot", "crds", "release", "restore"] {
        let of_kind = steps.iter().filter(|step| step["kind"] == kind);
        let took: Vec<Duration> = of_kind.filter_map(|step| span(step, "begunAt", "endedAt")).collect();
        table.spread(&format!("canary and rollback: {kind}"), &Seen::new(took), "–");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_action_is_the_first_restore_that_somebody_began() {
        let step = |kind: &str, intended: &str, begun: Option<&str>| json!({"kind": kind, "intendedAt": intended, "begunAt": begun});
        let steps = json!({"steps": [
            step("release", "2026-11-16T01:00:00Z", Some("2026-11-16T01:00:01Z")),
            step("restore", "2026-11-16T01:00:10Z", None),
            step("restore", "2026-11-16T01:00:10Z", Some("2026-11-16T01:00:10.200Z")),
        ]});
        let (decided, acted) = first_back(&steps).unwrap();
        assert_eq!(acted.duration_since(decided), jiff::SignedDuration::from_millis(200));
        assert_eq!(first_back(&json!({"steps": []})), None);
    }
}
