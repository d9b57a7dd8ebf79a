//! Clusters that are simulated, and a server on them: the manager's use cases, its engine and its workers as they
//! are, over a fleet that only waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use slipway_domain::health::{Look, Observation, PodSeen, WorkloadSeen};
use slipway_domain::preflight::{CheckKind, Finding, Level, Preflight, Return};
use slipway_domain::rollout::{Before, Found, Outcome, Revision, StepKind};
use slipway_infra::postgres::{DatabaseClock, Options, PostgresStore, connect};
use slipway_infra::workers::Runner;
use slipway_orchestrator::ports::fleet::{Act, Acted, Fleet, FleetError, Snapshot, Standing, Subject};
use slipway_orchestrator::ports::probes::{Manner, Probes, Target};
use slipway_orchestrator::rollouts::{GateWorker, LookWorker, RolloutSettings, RolloutWorker, StepWorker};
use slipway_orchestrator::{Manager, Settings};

use super::super::parts::parts;

/// How long simulated clusters take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Every step but helm's, and every look.
    pub(super) calls: Duration,
    pub(super) helm: Duration,
}

/// Clusters on which everything works. They remember nothing: several servers may each have their own.
#[derive(Debug, Clone, Copy)]
struct Sea(Pace);

/// What a rollout leaves on a cluster.
fn revision(subject: &Subject) -> Revision {
    Revision(format!("{}.{}", subject.placement.release.name, subject.rollout))
}

#[async_trait]
impl Fleet for Sea {
    async fn preflight(&self, subject: &Subject, now: Timestamp) -> Result<Preflight, FleetError> {
        tokio::time::sleep(self.0.calls).await;
        Ok(Preflight {
            at: now,
            from: None,
            to: subject.version.clone(),
            findings: vec![Finding::new(CheckKind::Renders, Level::Passed, "the chart renders")],
            changes: Vec::new(),
            crds: Vec::new(),
            going_back: Return::Reversible,
            values: Vec::new(),
            digest: format!("sha256:{}", subject.cluster),
        })
    }

    async fn act(&self, act: &Act) -> Acted {
        let helm = act.key.kind == StepKind::Release;
        tokio::time::sleep(if helm { self.0.helm } else { self.0.calls }).await;
        match act.key.kind {
            StepKind::Snapshot => Acted {
                outcome: Outcome::Done(Found::Kept(Before { version: None, revision: None })),
                snapshot: Some(Snapshot::default()),
                preflight: None,
            },
            StepKind::Release => Outcome::Done(Found::Released(revision(&act.subject))).into(),
            _ => Outcome::Done(Found::Nothing).into(),
        }
    }

    async fn standing(&self, subject: &Subject) -> Result<Standing, FleetError> {
        tokio::time::sleep(self.0.calls).await;
        Ok(Standing { revision: Some(revision(subject)), arrived: Ok(()) })
    }
}

#[async_trait]
impl Probes for Sea {
    async fn look(&self, target: &Target, manner: Manner) -> Observation {
        let pod = PodSeen {
            uid: "uid".into(),
            name: "courier-1".into(),
            ready: true,
            phase: "Running".into(),
            created: manner.at - SignedDuration::from_hours(1),
            trouble: None,
            containers: Vec::new(),
        };
        Observation {
            workloads: Look::Seen(vec![WorkloadSeen {
                kind: "Deployment".into(),
                namespace: "courier".into(),
                name: target.operator_name.clone(),
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

/// One of the servers of a measurement: a process of its own, so that what it takes can be counted.
#[derive(Debug, Args)]
pub(crate) struct SimulatedServer {
    #[arg(long)]
    database_url: String,
    /// No two may have the same.
    #[arg(long)]
    name: String,
    #[arg(long)]
    key_file: PathBuf,
    /// Milliseconds.
    #[arg(long)]
    calls: u64,
    /// Milliseconds.
    #[arg(long)]
    helm: u64,
}

impl SimulatedServer {
    /// What starts one with this program.
    pub(super) fn arguments(pace: Pace) -> [String; 5] {
        let text = |time: Duration| time.as_millis().to_string();
        ["simulated-server".into(), "--calls".into(), text(pace.calls), "--helm".into(), text(pace.helm)]
    }

    /// Works until it is stopped.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let store = PostgresStore::new(connect(&Options::new(self.database_url)).await?, &self.name);
        let pace = Pace { calls: Duration::from_millis(self.calls), helm: Duration::from_millis(self.helm) };
        let mut parts = parts(&store, &self.key_file)?;
        (parts.fleet, parts.probes) = (Arc::new(Sea(pace)), Arc::new(Sea(pace)));
        parts.clock = Arc::new(DatabaseClock::start(store.pool()).await?);
        let manager = Manager::new(parts, Settings::default());
        let engine = || manager.engine();
        let steps = RolloutSettings::default().steps_at_once;
        let runner = Runner::new(store)
            .with(Arc::new(RolloutWorker::new(engine())))
            .with(Arc::new(StepWorker::new(engine()).at_once_of(steps)))
            .with(Arc::new(LookWorker::new(engine())))
            .with(Arc::new(GateWorker::new(engine())));
        runner.run(std::future::pending()).await;
        Ok(())
    }
}
