//! Clusters that exist in memory only: everything works there, unless a test says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::Map;
use slipway_domain::health::{Look, Observation, PodSeen, WorkloadSeen};
use slipway_domain::id::ClusterId;
use slipway_domain::operator::{Drifted, InstallationState, Manager, Seen};
use slipway_domain::preflight::{Change, CheckKind, Fate, Finding, Level, Preflight, Return, ValueSource};
use slipway_domain::rollout::{Before, Found, Outcome, Revision, StepKind};
use slipway_orchestrator::ports::Releases;
use slipway_orchestrator::ports::fleet::{
    Act, Acted, Fleet, FleetError, Removal, Snapshot, Standing, Subject,
};
use slipway_orchestrator::ports::probes::{Manner, Probes, Target};
use slipway_orchestrator::ports::releases::{FoundRelease, ReleasesError};

/// What happens on the clusters.
#[derive(Debug, Clone, Default)]
pub struct Waters(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    revisions: BTreeMap<String, u32>,
    away: BTreeSet<String>,
    refusing: BTreeSet<String>,
    helm_fails: BTreeSet<String>,
    drifted: BTreeMap<String, Vec<Drifted>>,
    found: BTreeMap<ClusterId, Seen>,
}

impl Waters {
    /// A cluster that does not answer.
    pub fn lose(&self, cluster: &str) {
        self.0.lock().unwrap().away.insert(cluster.to_owned());
    }

    /// A cluster on which preflight finds something in the way.
    pub fn refuse(&self, cluster: &str) {
        self.0.lock().unwrap().refusing.insert(cluster.to_owned());
    }

    /// A cluster on which helm fails.
    pub fn break_helm(&self, cluster: &str) {
        self.0.lock().unwrap().helm_fails.insert(cluster.to_owned());
    }

    /// A cluster on which somebody changes what was released.
    pub fn change(&self, cluster: &str) {
        let drifted = Drifted {
            object: "Deployment greetings/greeter".to_owned(),
            gone: false,
            fields: vec!["spec.replicas: 5 → 1".to_owned()],
        };
        self.0.lock().unwrap().drifted.insert(cluster.to_owned(), vec![drifted]);
    }

    fn is_away(&self, cluster: &str) -> bool {
        self.0.lock().unwrap().away.contains(cluster)
    }
}

#[async_trait]
impl Fleet for Waters {
    async fn preflight(&self, subject: &Subject, now: Timestamp) -> Result<Preflight, FleetError> {
        let cluster = subject.cluster.as_str();
        if self.is_away(cluster) {
            return Err(FleetError::Unreachable("connection timed out".to_owned()));
        }
        let mut findings = vec![Finding::new(CheckKind::Renders, Level::Passed, "the chart renders")];
        if self.0.lock().unwrap().refusing.contains(cluster) {
            let text = "1 object would be refused";
            let object = "Greeting shop/web".to_owned();
            findings.push(Finding::new(CheckKind::Crds, Level::Refused, text).about([object]));
        }
        Ok(Preflight {
            at: now,
            from: None,
            to: subject.version.clone(),
            findings,
            changes: vec![Change {
                fate: Fate::Created,
                object: "Deployment greetings/greeter".to_owned(),
                fields: Vec::new(),
            }],
            crds: Vec::new(),
            going_back: Return::Reversible,
            digest: format!(
                "sha256:{cluster}{:?}",
                subject.layers.iter().map(|one| &one.values).collect::<Vec<_>>()
            ),
            values: values(subject),
        })
    }

    async fn act(&self, act: &Act) -> Acted {
        let cluster = act.subject.cluster.to_string();
        if self.is_away(&cluster) {
            return Outcome::Unreachable { reason: "connection timed out".to_owned() }.into();
        }
        let mut inner = self.0.lock().unwrap();
        match act.key.kind {
            StepKind::Snapshot => {
                let kept = Found::Kept(Before { version: None, revision: None });
                Acted { outcome: Outcome::Done(kept), snapshot: Some(Snapshot::default()), preflight: None }
            }
            StepKind::Release if inner.helm_fails.contains(&cluster) => {
                Outcome::Failed { reason: "helm: no endpoints available".to_owned() }.into()
            }
            StepKind::Release | StepKind::Restore => {
                inner.drifted.remove(&cluster);
                let revision = inner.revisions.entry(cluster).or_default();
                *revision += 1;
                let revision = *revision;
                let placement = &act.subject.placement;
                let seen = Seen {
                    namespace: placement.release.namespace.clone(),
                    release: placement.release.name.clone(),
                    chart: act.subject.chart.clone(),
                    version: act.subject.version.to_string(),
                    app_version: None,
                    revision,
                    state: InstallationState::Deployed,
                    managed_by: Manager::Helm,
                    manager_reference: None,
                    deployed_at: Some(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(revision.into())),
                };
                inner.found.insert(placement.cluster, seen);
                Outcome::Done(Found::Released(Revision(format!("greeter.v{revision}")))).into()
            }
            _ => Outcome::Done(Found::Nothing).into(),
        }
    }

    async fn standing(&self, subject: &Subject) -> Result<Standing, FleetError> {
        let cluster = subject.cluster.as_str();
        if self.is_away(cluster) {
            return Err(FleetError::Unreachable("connection timed out".to_owned()));
        }
        let revision =
            self.0.lock().unwrap().revisions.get(cluster).map(|number| format!("greeter.v{number}"));
        Ok(Standing { revision: revision.map(Revision), arrived: Ok(()) })
    }

    async fn drift(&self, subject: &Subject) -> Result<Option<Vec<Drifted>>, FleetError> {
        let inner = self.0.lock().unwrap();
        Ok(Some(inner.drifted.get(subject.cluster.as_str()).cloned().unwrap_or_default()))
    }

    async fn uninstall(&self, _: &Subject, removal: Removal) -> Result<Vec<String>, FleetError> {
        Ok(if removal.with_crds { Vec::new() } else { vec!["1 CRD with 2 custom resources".to_owned()] })
    }
}

#[async_trait]
impl Releases for Waters {
    async fn discover(&self, cluster: ClusterId) -> Result<Vec<FoundRelease>, ReleasesError> {
        let seen = self.0.lock().unwrap().found.get(&cluster).cloned();
        Ok(seen.into_iter().map(|seen| FoundRelease { seen, values: Map::new() }).collect())
    }
}

#[async_trait]
impl Probes for Waters {
    async fn look(&self, _: &Target, manner: Manner) -> Observation {
        let pod = PodSeen {
            uid: "uid".into(),
            name: "greeter-1".into(),
            ready: true,
            phase: "Running".into(),
            created: manner.at - SignedDuration::from_hours(1),
            trouble: None,
            containers: Vec::new(),
        };
        Observation {
            workloads: Look::Seen(vec![WorkloadSeen {
                kind: "Deployment".into(),
                namespace: "greetings".into(),
                name: "greeter".into(),
                exists: true,
                expected: 1,
                pods: vec![pod],
            }]),
            webhooks: Look::Seen(Vec::new()),
            resources: Look::Seen(Vec::new()),
            ..Observation::unseen(manner.at, "")
        }
    }
}

/// The values by their first names, each of the strongest layer.
fn values(subject: &Subject) -> Vec<ValueSource> {
    let mut strongest = BTreeMap::new();
    for layer in &subject.layers {
        for (path, value) in &layer.values {
            let source = ValueSource {
                path: path.clone(),
                value: value.clone(),
                source: layer.source.to_owned(),
                document: layer.document.clone(),
            };
            strongest.insert(path.clone(), source);
        }
    }
    strongest.into_values().collect()
}
