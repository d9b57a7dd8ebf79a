//! Operators on clusters, changed with helm and through the Kubernetes API.
//!
//! Every step looks before it acts, so that the same act twice equals once. helm is given what was rendered
//! and judged, never the chart itself, and a token that dies with the attempt. CRDs are never in its hands.

mod api;
mod attempt;
mod bundles;
mod colours;
mod conversion;
mod crds;
mod custom;
mod definition;
mod digest;
mod drift;
mod fault;
mod generated;
mod judgement;
mod keep;
mod kinds;
mod lease;
mod migrate;
mod object;
mod preflight;
mod pull;
mod release;
mod render;
mod replicas;
mod reread;
mod restore;
mod revisions;
mod site;
mod smoke;
mod snapshot;
mod standing;
mod switch;
mod uninstall;
mod values;
mod workloads;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::operator::Drifted;
use slipway_domain::preflight::Preflight;
use slipway_domain::rollout::{Gate, Measurement, StepKind};
use slipway_helm::Helm;
use slipway_orchestrator::ports::Fleet;
use slipway_orchestrator::ports::fleet::{
    Act, Acted, Definitions, FleetError, Removal, Snapshot, Standing, Subject,
};
use tokio::sync::OnceCell;

use crate::charts::HelmPrograms;
use crate::gates::Gates;
use crate::kubernetes::{AddressRules, Connections};

use fault::Fault;
use site::Site;

/// Changes operators on registered clusters.
pub struct KubeFleet {
    connections: Arc<Connections>,
    programs: HelmPrograms,
    helm: OnceCell<Helm>,
    gates: Gates,
}

impl KubeFleet {
    /// On these connections, with these programs.
    pub fn new(connections: Arc<Connections>, programs: HelmPrograms) -> Self {
        Self { connections, programs, helm: OnceCell::new(), gates: Gates::new(AddressRules::default()) }
    }

    /// Under these rules about the addresses of gates.
    #[must_use]
    pub fn asking(self, rules: AddressRules) -> Self {
        Self { gates: Gates::new(rules), ..self }
    }

    /// The cluster of a subject, and what is needed to change it.
    async fn site(&self, subject: &Subject) -> Result<Site, Fault> {
        let helm = self.helm.get_or_try_init(|| async {
            match &self.programs.helm {
                Some(program) => Helm::at(program, &self.programs.guardian).await,
                None => Helm::find(&self.programs.guardian).await,
            }
        });
        let helm = helm.await?.clone();
        Site::open(Arc::clone(&self.connections), helm, subject).await
    }

    async fn step(&self, act: &Act) -> Result<Acted, Fault> {
        let site = self.site(&act.subject).await?;
        match act.key.kind {
            StepKind::Crds => crds::apply(&site, act).await,
            StepKind::ReturnCrds => crds::give_back(&site, act).await,
            StepKind::Migrate => migrate::forward(&site, act).await,
            StepKind::Smoke => smoke::run(&site, act).await,
            StepKind::Preflight => {
                let preflight = preflight::look(&site, &act.subject, act.now).await?;
                Ok(Acted { outcome: preflight.outcome(), snapshot: None, preflight: Some(preflight) })
            }
            StepKind::Snapshot => snapshot::take(&site, act).await,
            StepKind::Release => release::run(&site, act).await,
            StepKind::Restore => restore::run(&site, act).await,
            StepKind::Switch => switch::forth(&site, act).await,
            StepKind::SwitchBack => switch::back(&site, act).await,
            StepKind::RemoveGreen => switch::remove_green(&site, act).await,
            StepKind::RetireBlue => switch::retire_blue(&site, act).await,
        }
    }
}

#[async_trait]
impl Fleet for KubeFleet {
    #[tracing::instrument(name = "fleet.preflight", skip_all, fields(cluster = %subject.cluster, operator = %subject.operator_name))]
    async fn preflight(&self, subject: &Subject, now: Timestamp) -> Result<Preflight, FleetError> {
        let site = self.site(subject).await?;
        Ok(preflight::look(&site, subject, now).await?)
    }

    #[tracing::instrument(name = "fleet.act", skip_all, fields(act = %act.key, operator = %act.subject.operator_name))]
    async fn act(&self, act: &Act) -> Acted {
        match self.step(act).await {
            Ok(acted) => acted,
            Err(fault) => {
                tracing::info!(%fault, "the step was not done");
                Acted::from(fault.outcome())
            }
        }
    }

    #[tracing::instrument(name = "fleet.standing", skip_all, fields(cluster = %subject.cluster, operator = %subject.operator_name))]
    async fn standing(&self, subject: &Subject) -> Result<Standing, FleetError> {
        let site = self.site(subject).await?;
        Ok(standing::look(&site, subject).await?)
    }

    #[tracing::instrument(name = "fleet.definitions", skip_all, fields(cluster = %subject.cluster, operator = %subject.operator_name))]
    async fn definitions(&self, subject: &Subject, snapshot: &Snapshot) -> Result<Definitions, FleetError> {
        let site = self.site(subject).await?;
        Ok(reread::look(&site, subject, snapshot).await?)
    }

    #[tracing::instrument(name = "fleet.drift", skip_all, fields(cluster = %subject.cluster, operator = %subject.operator_name))]
    async fn drift(&self, subject: &Subject) -> Result<Option<Vec<Drifted>>, FleetError> {
        let site = self.site(subject).await?;
        Ok(drift::look(&site, subject).await?)
    }

    async fn measure(&self, gate: &Gate, now: Timestamp) -> Measurement {
        self.gates.measure(gate, now).await
    }

    #[tracing::instrument(name = "fleet.uninstall", skip_all, fields(cluster = %subject.cluster, operator = %subject.operator_name))]
    async fn uninstall(&self, subject: &Subject, removal: Removal) -> Result<Vec<String>, FleetError> {
        let site = self.site(subject).await?;
        Ok(uninstall::run(&site, subject, removal).await?)
    }
}
