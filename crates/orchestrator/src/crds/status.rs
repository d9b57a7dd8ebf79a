//! Which cluster runs which schema, and how it differs from the chart's.

use std::collections::BTreeMap;

use jiff::Timestamp;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::KubernetesVersion;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::cluster::{Cluster, State};
use slipway_domain::crd::chain::order;
use slipway_domain::crd::{ContentHash, StoredCrd};
use slipway_domain::id::ClusterId;
use slipway_domain::version::Version;

use super::CrdChoice;
use super::compare::Definition;
use crate::error::Error;
use crate::manager::Manager;
use crate::page::Window;
use crate::ports::store::{ClusterFilter, SeenContent, SeenCrd};

/// How many differences are told of one cluster.
const TOLD: usize = 5;

/// What a cluster runs, against what is expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrdState {
    /// The schema that is expected.
    Same,
    /// Another.
    Differs,
    /// No such CRD.
    Absent,
    /// Nobody could look.
    Unknown,
}

impl CrdState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Differs => "Differs",
            Self::Absent => "Absent",
            Self::Unknown => "Unknown",
        }
    }
}

/// What bringing a cluster to the expected schema does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// How much it matters.
    pub severity: Severity,
    /// The worst of it, in sentences.
    pub differences: Vec<String>,
}

/// A CRD on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdOnCluster {
    /// The cluster's name.
    pub name: String,
    /// What it runs, against what is expected.
    pub state: CrdState,
    /// The version whose schema is expected.
    pub expected: Version,
    /// Whether the operator is installed there, so that it is really expected.
    pub installed: bool,
    /// The versions that bring the schema that it runs.
    pub runs: Vec<Version>,
    /// How it differs.
    pub drift: Option<Drift>,
    /// What it runs.
    pub found: Option<SeenContent>,
    /// When somebody looked last.
    pub looked_at: Option<Timestamp>,
    /// Why nothing can be said.
    pub failure: Option<String>,
}

/// A CRD on all clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdStatusReport {
    /// The schema that counts where the operator is not installed.
    pub crd: StoredCrd,
    /// By name.
    pub clusters: Vec<CrdOnCluster>,
}

impl Manager {
    /// Which cluster runs which schema of a CRD.
    pub async fn crd_status(&self, actor: &Actor, choice: &CrdChoice) -> Result<CrdStatusReport, Error> {
        self.permit(actor, Permission::Read, "crd.read", &choice.resource()).await?;
        let crd = self.find_crd(choice).await?;
        let mut chain = self.store().crd_versions(&crd.name).await?;
        chain.retain(|other| other.operator == crd.operator);
        order(&mut chain);
        let installed = self.installed_versions(&crd).await?;
        let seen: BTreeMap<ClusterId, SeenCrd> =
            self.store().seen_crd(&crd.name).await?.into_iter().map(|seen| (seen.cluster, seen)).collect();
        let mut clusters = Vec::new();
        for cluster in self.every_cluster().await? {
            let version = installed.get(&cluster.id);
            // The schema of the version that is installed; that of the nearest before it, where the chart of
            // that very version was not looked at.
            let expected = match version {
                Some(version) => chain.iter().rev().find(|crd| crd.operator_version <= *version),
                None => None,
            };
            let expected = expected.unwrap_or(&crd);
            let found = self.on_cluster(&cluster, seen.get(&cluster.id), expected, &chain).await?;
            clusters.push(CrdOnCluster { installed: version.is_some(), ..found });
        }
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(CrdStatusReport { crd, clusters })
    }

    async fn on_cluster(
        &self,
        cluster: &Cluster,
        seen: Option<&SeenCrd>,
        expected: &StoredCrd,
        chain: &[StoredCrd],
    ) -> Result<CrdOnCluster, Error> {
        let mut told = CrdOnCluster {
            name: cluster.name.to_string(),
            state: CrdState::Unknown,
            expected: expected.operator_version.clone(),
            installed: false,
            runs: Vec::new(),
            drift: None,
            found: None,
            looked_at: seen.and_then(|seen| seen.looked_at),
            failure: seen.and_then(|seen| seen.failure.clone()),
        };
        if cluster.state == State::Disabled {
            told.failure = Some("the cluster is disabled, so nobody looks".to_owned());
            return Ok(told);
        }
        if told.failure.is_some() || told.looked_at.is_none() {
            told.failure.get_or_insert_with(|| "nobody has looked yet".to_owned());
            return Ok(told);
        }
        let Some(found) = seen.and_then(|seen| seen.found.clone()) else {
            // Only what was known when somebody looked was looked for.
            let known_since = chain.iter().map(|crd| crd.recorded_at).min();
            if known_since > told.looked_at {
                told.failure = Some("nobody has looked yet".to_owned());
                return Ok(told);
            }
            return Ok(CrdOnCluster { state: CrdState::Absent, ..told });
        };
        told.runs = runs(found.content, chain);
        if found.content == expected.content {
            return Ok(CrdOnCluster { state: CrdState::Same, found: Some(found), ..told });
        }
        let release = cluster.health.kubernetes_version.as_deref().and_then(|text| text.parse().ok());
        let drift = self.drift(&found, expected, release).await?;
        let state = if drift.differences.is_empty() { CrdState::Same } else { CrdState::Differs };
        let drift = (state == CrdState::Differs).then_some(drift);
        Ok(CrdOnCluster { state, drift, found: Some(found), ..told })
    }

    /// What bringing a cluster from what it runs to what is expected does.
    async fn drift(
        &self,
        found: &SeenContent,
        expected: &StoredCrd,
        release: Option<KubernetesVersion>,
    ) -> Result<Drift, Error> {
        let Some(live) = self.store().live_definition(found.content).await? else {
            // It changed this moment; the next look knows more.
            let differences = vec!["it is another schema".to_owned()];
            return Ok(Drift { severity: Severity::Risky, differences });
        };
        let policy = self.crd_policy(&expected.operator).await?;
        let (live, chart) =
            (Definition::stored(&live)?, Definition::stored(&self.definition(expected).await?)?);
        let report = self.compare(&live, &chart, release, &policy).await?;
        let mut differences: Vec<String> =
            report.findings.iter().take(TOLD).map(|finding| finding.message.clone()).collect();
        if let Some(more) = report.findings.len().checked_sub(TOLD).filter(|more| *more > 0) {
            differences.push(format!("and {more} more"));
        }
        Ok(Drift { severity: report.severity(), differences })
    }

    /// On which cluster which version of the CRD's operator is installed.
    async fn installed_versions(&self, crd: &StoredCrd) -> Result<BTreeMap<ClusterId, Version>, Error> {
        let Some(operator) = self.store().operator_by_name(&crd.operator).await? else {
            return Ok(BTreeMap::new());
        };
        let installations = self.store().installations(None, Some(operator.id)).await?;
        Ok(installations
            .into_iter()
            .filter_map(|one| Some((one.cluster_id, one.seen.version.as_str().parse().ok()?)))
            .collect())
    }

    /// Every cluster that is registered.
    pub(crate) async fn every_cluster(&self) -> Result<Vec<Cluster>, Error> {
        let mut clusters = Vec::new();
        loop {
            let window = Window { limit: Window::MOST, offset: clusters.len() as u64 };
            let page = self.store().clusters(&ClusterFilter::default(), window).await?;
            let more = page.has_more();
            clusters.extend(page.items);
            if !more {
                return Ok(clusters);
            }
        }
    }
}

/// The versions whose schema is this one.
fn runs(content: ContentHash, chain: &[StoredCrd]) -> Vec<Version> {
    let same = chain.iter().filter(|crd| crd.content == content);
    same.map(|crd| crd.operator_version.clone()).collect()
}
