//! A cluster with an operator of boats, as far as tests need them.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Map, Value, json};
use slipway_domain::access::Environment;
use slipway_domain::id::ClusterId;
use slipway_domain::preflight::{CheckKind, Level, Preflight};
use slipway_domain::profile::Profile;
use slipway_domain::rollout::{ActKey, Outcome, StepKind};
use slipway_infra::charts::HelmPrograms;
use slipway_infra::fleet::KubeFleet;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::Connections;
use slipway_infra::kubernetes::enrol::{Rights, enrol};
use slipway_orchestrator::clusters::access::{ClusterAccess, Credential};
use slipway_orchestrator::ports::charts::Archive;
use slipway_orchestrator::ports::fleet::{Act, Acted, Layer, Placement, Snapshot, Subject};
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_orchestrator::ports::{Fleet as _, Keyring};
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::{ControlPlane, Program, Scratch, scratch, until};
use uuid::Uuid;

use crate::one::One;

pub(crate) const CRD: &str = "boats.sea.dev";
const MINUTE: Duration = Duration::from_mins(1);

/// A cluster, and a fleet that consists of it.
pub(crate) struct Harbour {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) fleet: KubeFleet,
    id: ClusterId,
    home: Scratch,
}

impl Harbour {
    /// With an account that has the documented role.
    pub(crate) async fn open() -> Self {
        Self::with(&Rights::Documented, ControlPlane::start().await.unwrap()).await
    }

    /// With an account of other rights.
    pub(crate) async fn with(rights: &Rights, plane: ControlPlane) -> Self {
        let client = plane.client().await.unwrap();
        let token = enrol(&client, rights).await.unwrap().token.as_str().to_owned();
        let config: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
        let authority = config.pointer("/clusters/0/cluster/certificate-authority-data").unwrap();
        let authority = STANDARD.decode(authority.as_str().unwrap()).unwrap();
        let access = ClusterAccess {
            server: plane.server().to_owned(),
            server_name: None,
            authority: Some(String::from_utf8(authority).unwrap()),
            proxy: None,
            credential: Credential::Token(token.into()),
        };
        let keys = KeySource::Text(STANDARD.encode([7; 32]).into());
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&keys).unwrap());
        let id: ClusterId = Uuid::new_v4().into();
        let sealed = access.seal(id, &*keyring).unwrap();
        let connections = Arc::new(Connections::new(Arc::new(One { id, sealed }), keyring));
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let fleet = KubeFleet::new(connections, HelmPrograms { guardian, helm: None });
        Self { plane, client, fleet, id, home: scratch("helm").unwrap() }
    }

    /// What is rolled out: a chart, as the release `fleet` in `sea`.
    pub(crate) fn subject(&self, chart: &Chart, version: &str) -> Subject {
        Subject {
            rollout: Uuid::new_v4().into(),
            cluster: "harbour".parse().unwrap(),
            environment: Environment::Development,
            operator: Uuid::new_v4().into(),
            operator_name: "boats".parse().unwrap(),
            crds: vec![CRD.to_owned()],
            profile: Profile::default(),
            placement: Placement {
                cluster: self.id,
                release: ReleaseAt { namespace: "sea".to_owned(), name: "fleet".to_owned() },
                installed: true,
                adopts: false,
                beside: None,
            },
            chart: "boats".to_owned(),
            version: version.parse().unwrap(),
            archive: Archive {
                digest: format!("sha256:{}", chart.digest()),
                bytes: chart.archive().to_vec(),
            },
            layers: Vec::new(),
            crd_policy: slipway_domain::settings::policy::CrdPolicy::default(),
            may_delete: Vec::new(),
        }
    }

    pub(crate) async fn preflight(&self, subject: &Subject) -> Preflight {
        self.fleet.preflight(subject, Timestamp::now()).await.unwrap()
    }

    /// A step with a minute of time.
    pub(crate) fn step(subject: &Subject, kind: StepKind, snapshot: Option<Snapshot>) -> Act {
        let now = Timestamp::now();
        Act {
            subject: subject.clone(),
            key: ActKey { cluster: "harbour".parse().unwrap(), kind, attempt: 1 },
            deadline: now + SignedDuration::from_mins(1),
            now,
            resumed: false,
            digest: None,
            snapshot,
            down_migrate: false,
        }
    }

    pub(crate) async fn act(&self, subject: &Subject, kind: StepKind, snapshot: Option<Snapshot>) -> Acted {
        self.fleet.act(&Self::step(subject, kind, snapshot)).await
    }

    pub(crate) async fn apply_crds(&self, subject: &Subject) -> Outcome {
        self.act(subject, StepKind::Crds, None).await.outcome
    }

    /// helm as somebody uses it by hand.
    pub(crate) async fn install(&self, chart: &Chart, release: &str, namespace: &str) {
        self.install_with(Program::Helm4, chart, release, namespace).await;
    }

    /// The same with another helm.
    pub(crate) async fn install_with(&self, helm: Program, chart: &Chart, release: &str, namespace: &str) {
        let file = chart.write_to(self.home.path()).unwrap();
        let mut command = Command::new(helm.find().unwrap());
        for name in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path());
        }
        command.args(["upgrade", "--install", release]).arg(file);
        command.args(["--namespace", namespace, "--create-namespace", "--kubeconfig"]);
        command.arg(self.plane.kubeconfig_file());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn crds(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    pub(crate) async fn crd(&self) -> Value {
        serde_json::to_value(self.crds().get(CRD).await.unwrap()).unwrap()
    }

    /// Makes the CRD, or replaces what it says, as somebody with that field manager.
    pub(crate) async fn define(&self, definition: &Value, manager: &str) {
        let how = PatchParams::apply(manager).force();
        self.crds().patch(CRD, &how, &Patch::Apply(definition)).await.unwrap();
        self.served().await;
    }

    pub(crate) async fn served(&self) {
        until("boats to be served", MINUTE, async || {
            let crd = self.crd().await;
            let conditions = crd.pointer("/status/conditions")?.as_array()?.clone();
            let established =
                conditions.iter().any(|it| it["type"] == "Established" && it["status"] == "True");
            let listed = self.boats("v1").list(&kube::api::ListParams::default()).await.is_ok();
            (established && listed).then_some(())
        })
        .await
        .unwrap();
    }

    pub(crate) fn boats(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("sea.dev", version, "Boat");
        Api::namespaced_with(self.client.clone(), "default", &ApiResource::from_gvk(&kind))
    }

    /// Launches a boat.
    pub(crate) async fn launch(&self, name: &str, spec: &Value) {
        let boat =
            json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec});
        let boat = serde_json::from_value(boat).unwrap();
        until("boats to be taken", MINUTE, async || {
            self.boats("v1").create(&PostParams::default(), &boat).await.ok()
        })
        .await
        .unwrap();
    }
}

/// The definition of boats with one version, `v1`.
pub(crate) fn definition(spec: &Value) -> Value {
    versions(&[("v1", true, spec)])
}

/// The definition of boats with versions: name, whether it is stored, and what a spec may hold.
pub(crate) fn versions(versions: &[(&str, bool, &Value)]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|(name, storage, spec)| {
            json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": spec},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}})
        })
        .collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {"group": "sea.dev", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
            "versions": versions}})
}

/// A chart with a `ConfigMap`, and a CRD if one is given.
pub(crate) fn chart(version: &str, crd: Option<&Value>) -> ChartBuilder {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-config\"}\ndata: {sails: \"{{ .Values.sails }}\"}\n";
    let chart = ChartBuilder::new("boats", version).values("sails: 1\n").template("config.yaml", config);
    match crd {
        Some(crd) => chart.crd("boats.yaml", &crd.to_string()),
        None => chart,
    }
}

pub(crate) fn layer(values: Value) -> Layer {
    let values: Map<String, Value> = serde_json::from_value(values).unwrap();
    Layer::new("deployment", values)
}

/// What was found of a kind and a level, each as one sentence.
pub(crate) fn told(report: &Preflight, check: CheckKind, level: Level) -> Vec<String> {
    let found = report.findings.iter().filter(|found| found.check == check && found.level == level);
    found.map(slipway_domain::preflight::Finding::sentence).collect()
}

/// Everything that stands in the way.
pub(crate) fn refusals(report: &Preflight) -> Vec<String> {
    report.refusals().map(slipway_domain::preflight::Finding::sentence).collect()
}
