//! What was found before anything is changed, on the wire.

use std::collections::BTreeMap;

use slipway_contract::deployments::{
    DryRunCluster, DryRunReply, PreflightChange, PreflightCluster, PreflightCrd, PreflightFinding,
    PreflightReply, PreflightValue, PreflightsReply, WaveState,
};
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::preflight::Preflight;
use slipway_orchestrator::rollouts::DryRun;

use super::replies::wave;
use super::settings::whole;

pub(super) fn dry_run(run: DryRun) -> DryRunReply {
    let waves = run.waves.iter().enumerate();
    let order: Vec<&Name> = run.waves.iter().flat_map(|wave| &wave.clusters).collect();
    let place = |name: &Name| order.iter().position(|other| *other == name).unwrap_or(usize::MAX);
    let mut clusters: Vec<(usize, DryRunCluster)> = run
        .clusters
        .into_iter()
        .map(|(name, looked)| {
            let at = place(&name);
            let (preflight, error) = match looked {
                Ok(preflight) => (Some(found(preflight)), None),
                Err(error) => (None, Some(error)),
            };
            let fits = preflight.as_ref().is_some_and(|preflight| preflight.fits);
            let cluster = DryRunCluster { cluster_name: name.to_string(), fits, error, preflight };
            (at, cluster)
        })
        .collect();
    clusters.sort_by_key(|(at, _)| *at);
    let clusters: Vec<DryRunCluster> = clusters.into_iter().map(|(_, cluster)| cluster).collect();
    DryRunReply {
        operator_name: run.operator.to_string(),
        target_version: run.version.to_string(),
        strategy: run.settings.strategy.kind().into(),
        waves: waves.map(|(index, one)| wave(index, one, WaveState::Waiting, None)).collect(),
        settings: whole(&run.settings),
        fits: clusters.iter().all(|cluster| cluster.fits),
        clusters,
    }
}

pub(super) fn all(rollout: RolloutId, preflights: BTreeMap<Name, Preflight>) -> PreflightsReply {
    let clusters = preflights.into_iter().map(|(name, preflight)| PreflightCluster {
        cluster_name: name.to_string(),
        preflight: found(preflight),
    });
    PreflightsReply { deployment_id: rollout.0, clusters: clusters.collect() }
}

fn found(preflight: Preflight) -> PreflightReply {
    let fits = preflight.refusals().next().is_none();
    let findings = preflight.findings.into_iter().map(|finding| PreflightFinding {
        check: finding.check.to_string(),
        level: finding.level.into(),
        text: finding.text,
        objects: finding.objects,
    });
    let changes = preflight.changes.into_iter().map(|change| PreflightChange {
        fate: change.fate.into(),
        object: change.object,
        fields: change.fields,
    });
    let crds = preflight.crds.into_iter().map(|crd| PreflightCrd {
        name: crd.name,
        fate: crd.fate.map(Into::into),
        breaking: crd.breaking,
        risky: crd.risky,
    });
    let values = preflight.values.into_iter().map(|value| PreflightValue {
        path: value.path,
        value: value.value,
        source: value.source,
        document: value.document,
    });
    PreflightReply {
        checked_at: preflight.at,
        from_version: preflight.from.map(|version| version.to_string()),
        to_version: preflight.to.to_string(),
        fits,
        findings: findings.collect(),
        changes: changes.collect(),
        crds: crds.collect(),
        going_back: preflight.going_back.into(),
        values: values.collect(),
        digest: preflight.digest,
    }
}
