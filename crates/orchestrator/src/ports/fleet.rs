//! Changing operators on clusters: what the steps of rollouts come down to.
//!
//! An adapter looks before it acts: the same act twice equals once. It is told whether an earlier server may
//! still be at it ([`Act::resumed`]), and acts then only once that attempt is provably over.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipway_domain::access::Environment;
use slipway_domain::health::Baseline;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::operator::Drifted;
use slipway_domain::preflight::Preflight;
use slipway_domain::profile::{Colour, Profile};
use slipway_domain::rollout::{ActKey, Gate, Measurement, Outcome, Revision, Seen};
use slipway_domain::settings::policy::CrdPolicy;
use slipway_domain::version::Version;

use super::charts::Archive;
use super::probes::ReleaseAt;

/// Values of one origin.
#[derive(Clone, PartialEq)]
pub struct Layer {
    /// Who says so: `operator`, `release`, `environment`, `cluster`, `deployment`, `colour`.
    pub source: &'static str,
    /// The name of the document that they are from, for an environment and a cluster.
    pub document: Option<String>,
    /// What. It may hold secrets.
    pub values: Map<String, Value>,
}

impl Layer {
    /// Values that are from no document.
    pub fn new(source: &'static str, values: Map<String, Value>) -> Self {
        Self { source, document: None, values }
    }

    /// Who says so, for people: `environment (Values certs-production)`.
    pub fn origin(&self) -> String {
        match &self.document {
            Some(document) => format!("{} (Values {document})", self.source),
            None => self.source.to_owned(),
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layer({}, {} values)", self.source, self.values.len())
    }
}

/// Where an operator is, or will be, on a cluster. It is settled when a rollout begins and never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The cluster.
    pub cluster: ClusterId,
    /// The release that is there, or that will be; for blue-green the one that is there.
    pub release: ReleaseAt,
    /// Whether it was found there when the rollout began.
    pub installed: bool,
    /// Whether the rollout may take over the values of what is there: a release that somebody else made.
    pub adopts: bool,
    /// The second release, for blue-green.
    pub beside: Option<Beside>,
}

/// A second release beside the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// Where.
    pub release: ReleaseAt,
    /// Its colour; the first one has the other.
    pub colour: Colour,
}

/// What is rolled out, on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The rollout.
    pub rollout: RolloutId,
    /// The cluster's name.
    pub cluster: Name,
    /// Where it stands.
    pub environment: Environment,
    /// The operator.
    pub operator: OperatorId,
    /// Its name.
    pub operator_name: Name,
    /// The names of its CRDs.
    pub crds: Vec<String>,
    /// What has to be known of it.
    pub profile: Profile,
    /// Where it is.
    pub placement: Placement,
    /// The chart's name.
    pub chart: String,
    /// The version that is rolled out.
    pub version: Version,
    /// The chart.
    pub archive: Archive,
    /// The values, the weakest first.
    pub layers: Vec<Layer>,
    /// What of a change of CRDs is tolerated here: of all policies that cover this cluster and operator.
    pub crd_policy: CrdPolicy,
    /// The objects that somebody allowed to be deleted, as `Kind namespace/name` or `Kind name`.
    pub may_delete: Vec<String>,
}

/// Something to do, with all that is needed for it.
#[derive(Debug, Clone)]
pub struct Act {
    /// What is rolled out there.
    pub subject: Subject,
    /// Which step, and which attempt at it.
    pub key: ActKey,
    /// When the attempt is over whatever happens.
    pub deadline: Timestamp,
    /// How the time is now; deadlines compare with this, whatever the machine's clock says.
    pub now: Timestamp,
    /// Whether an earlier server may have begun this attempt, and may still be at it.
    pub resumed: bool,
    /// The digest of the change that the last preflight found; what is applied has to have the same.
    pub digest: Option<String>,
    /// What was kept before the cluster was touched.
    pub snapshot: Option<Snapshot>,
    /// Whether stored objects may be rewritten to an older version.
    pub down_migrate: bool,
}

/// What came of an act.
#[derive(Debug, Clone)]
pub struct Acted {
    /// For the decider.
    pub outcome: Outcome,
    /// What is to be kept: of a snapshot step, or what a step adds to it.
    pub snapshot: Option<Snapshot>,
    /// What a preflight says, for people.
    pub preflight: Option<Preflight>,
}

impl From<Outcome> for Acted {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, snapshot: None, preflight: None }
    }
}

/// What was there before a cluster was touched; kept sealed, since manifests and values hold secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// The release, where there was one.
    pub release: Option<KeptRelease>,
    /// The live CRDs by name, without `caBundle`s and what the server fills in.
    pub crds: BTreeMap<String, Value>,
    /// The versions that objects are stored in, by CRD.
    pub stored_versions: BTreeMap<String, Vec<String>>,
    /// The replicas of the release's workloads, as `Deployment namespace/name`.
    pub replicas: BTreeMap<String, i32>,
    /// The hash of the spec of every custom resource, by CRD and uid.
    pub objects: BTreeMap<String, BTreeMap<String, String>>,
    /// What was broken already.
    pub baseline: Option<Baseline>,
    /// Webhook registrations of blue, as they were before a switch.
    pub webhooks: Vec<Value>,
    /// What else a step has to find again, by its own words.
    pub notes: BTreeMap<String, Value>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.release.as_ref().map(|release| release.version.as_str());
        write!(f, "Snapshot({version:?}, {} CRDs)", self.crds.len())
    }
}

/// A release as it was.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptRelease {
    /// Its revision.
    pub revision: u32,
    /// The name of its chart.
    pub chart: String,
    /// The version of its chart.
    pub version: String,
    /// The version of what it installs.
    pub app_version: Option<String>,
    /// What helm applied.
    pub manifest: String,
    /// Its hooks, as helm keeps them.
    pub hooks: Vec<Value>,
    /// Its notes.
    pub notes: Option<String>,
    /// The values that somebody gave to it.
    pub values: Map<String, Value>,
}

impl fmt::Debug for KeptRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptRelease({} {} revision {})", self.chart, self.version, self.revision)
    }
}

/// Which revision a cluster runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The newest revision of the release, where there is one.
    pub revision: Option<Revision>,
    /// Whether helm ended with it, and every workload was brought to it: the controllers have seen the new
    /// generation and no pod of an older one is left. In words what is missing, else.
    pub arrived: Result<(), String>,
}

/// What became of CRDs since they were applied: some operators install or change their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    /// What was made or changed, each in a sentence.
    pub changed: Vec<String>,
    /// What of it breaks objects that are there, each in a sentence that names them.
    pub broken: Vec<String>,
}

/// How a release is taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removal {
    /// Whether its CRDs go too, and every custom resource with them.
    pub with_crds: bool,
}

/// Why a cluster could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// It does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// Something else, such as a right that is missing.
    #[error("{0}")]
    Refused(String),
}

/// Changes operators on clusters. A server that has no clusters says so.
#[async_trait]
pub trait Fleet: Send + Sync {
    /// Looks at everything that could stand in the way. Changes nothing.
    async fn preflight(&self, _subject: &Subject, _now: Timestamp) -> Result<Preflight, FleetError> {
        Err(absent())
    }

    /// Does a step other than preflight.
    async fn act(&self, _act: &Act) -> Acted {
        Outcome::Hiccup { reason: absent().to_string() }.into()
    }

    /// Which revision the release runs: for blue-green the second one's. A consistent read.
    async fn standing(&self, _subject: &Subject) -> Result<Standing, FleetError> {
        Err(absent())
    }

    /// Reads CRDs again, now that the controller runs. `snapshot` is what was kept before and while they were
    /// applied. A consistent read.
    async fn definitions(&self, _subject: &Subject, _snapshot: &Snapshot) -> Result<Definitions, FleetError> {
        Ok(Definitions::default())
    }

    /// Asks a gate.
    async fn measure(&self, _gate: &Gate, now: Timestamp) -> Measurement {
        Measurement { at: now, health: Seen::Undecided, text: absent().to_string() }
    }

    /// What of a release is not as it was released any more. Nothing where that is not known, since the release is
    /// being changed or its last change failed.
    async fn drift(&self, _subject: &Subject) -> Result<Option<Vec<Drifted>>, FleetError> {
        Ok(None)
    }

    /// Takes a release away; CRDs and custom resources stay unless told otherwise. What was left, in words.
    async fn uninstall(&self, _subject: &Subject, _removal: Removal) -> Result<Vec<String>, FleetError> {
        Err(absent())
    }
}

fn absent() -> FleetError {
    FleetError::Refused("this server changes no clusters".to_owned())
}

/// Changes nothing and says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFleet;

#[async_trait]
impl Fleet for NoFleet {}
