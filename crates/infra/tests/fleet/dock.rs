//! A cluster, a fleet that consists of it, and charts to roll out on it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use slipway_domain::access::Environment;
use slipway_domain::id::ClusterId;
use slipway_domain::profile::Profile;
use slipway_domain::rollout::{ActKey, Found, Outcome, StepKind};
use slipway_infra::charts::HelmPrograms;
use slipway_infra::fleet::KubeFleet;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::Connections;
use slipway_infra::kubernetes::enrol::{Rights, enrol};
use slipway_orchestrator::clusters::access::{ClusterAccess, Credential};
use slipway_orchestrator::ports::charts::Archive;
use slipway_orchestrator::ports::fleet::{Act, Layer, Placement, Snapshot, Subject};
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_orchestrator::ports::{Fleet as _, Keyring};
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::{ControlPlane, Program, RealCluster, Scratch, scratch, until};
use uuid::Uuid;

use crate::one::One;

pub(crate) const BOTH: [Program; 2] = [Program::Helm3, Program::Helm4];
pub(crate) const CRD: &str = "boats.sea.dev";
pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// What a cluster is made of.
pub(crate) enum Ground {
    /// Without nodes, or with those that only say that pods run.
    Plane(ControlPlane),
    /// With a node that runs them.
    Node(RealCluster, PathBuf),
}

impl Ground {
    pub(crate) fn server(&self) -> &str {
        match self {
            Self::Plane(plane) => plane.server(),
            Self::Node(cluster, _) => &cluster.info().server,
        }
    }

    pub(crate) fn kubeconfig(&self) -> String {
        match self {
            Self::Plane(plane) => plane.kubeconfig().to_owned(),
            Self::Node(cluster, _) => cluster.kubeconfig(),
        }
    }

    fn kubeconfig_file(&self) -> PathBuf {
        match self {
            Self::Plane(plane) => plane.kubeconfig_file(),
            Self::Node(_, file) => file.clone(),
        }
    }
}

/// A cluster, and a fleet that consists of it.
pub(crate) struct Dock {
    pub(crate) plane: Ground,
    pub(crate) client: Client,
    pub(crate) fleet: Arc<KubeFleet>,
    program: Program,
    id: ClusterId,
    home: Scratch,
}

impl Dock {
    /// On a cluster without nodes.
    pub(crate) async fn open(program: Program) -> Self {
        Self::on(program, ControlPlane::start().await.unwrap()).await
    }

    pub(crate) async fn on(program: Program, plane: ControlPlane) -> Self {
        let client = plane.client().await.unwrap();
        Self::at(program, Ground::Plane(plane), client, scratch("helm").unwrap()).await
    }

    /// On a cluster whose pods really run.
    pub(crate) async fn with_node(program: Program, cluster: RealCluster) -> Self {
        let home = scratch("helm").unwrap();
        let file = home.path().join("kubeconfig");
        std::fs::write(&file, cluster.kubeconfig()).unwrap();
        let client = cluster.client().await.unwrap();
        Self::at(program, Ground::Node(cluster, file), client, home).await
    }

    async fn at(program: Program, plane: Ground, client: Client, home: Scratch) -> Self {
        let token = enrol(&client, &Rights::Documented).await.unwrap().token.as_str().to_owned();
        let config: Value = serde_json::from_str(&plane.kubeconfig()).unwrap();
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
        let helm = Some(program.find().unwrap());
        let fleet = Arc::new(KubeFleet::new(connections, HelmPrograms { guardian, helm }));
        Self { plane, client, fleet, program, id, home }
    }

    /// What is rolled out: a chart, as the release `fleet` in `sea`.
    pub(crate) fn subject(&self, chart: &Chart) -> Subject {
        Subject {
            rollout: Uuid::new_v4().into(),
            cluster: "dock".parse().unwrap(),
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
            chart: chart.name().to_owned(),
            version: chart.version().parse().unwrap(),
            archive: Archive {
                digest: format!("sha256:{}", chart.digest()),
                bytes: chart.archive().to_vec(),
            },
            layers: Vec::new(),
            crd_policy: slipway_domain::settings::policy::CrdPolicy::default(),
            may_delete: Vec::new(),
        }
    }

    /// A step with time enough.
    pub(crate) fn step(subject: &Subject, kind: StepKind, snapshot: Option<&Snapshot>) -> Act {
        let now = Timestamp::now();
        Act {
            subject: subject.clone(),
            key: ActKey { cluster: "dock".parse().unwrap(), kind, attempt: 1 },
            deadline: now + SignedDuration::from_mins(3),
            now,
            resumed: false,
            digest: None,
            snapshot: snapshot.cloned(),
            down_migrate: false,
        }
    }

    pub(crate) async fn act(
        &self,
        subject: &Subject,
        kind: StepKind,
        snapshot: Option<&Snapshot>,
    ) -> Outcome {
        self.fleet.act(&Self::step(subject, kind, snapshot)).await.outcome
    }

    pub(crate) async fn snapshot(&self, subject: &Subject) -> Snapshot {
        let acted = self.fleet.act(&Self::step(subject, StepKind::Snapshot, None)).await;
        assert!(matches!(acted.outcome, Outcome::Done(Found::Kept(_))), "{:?}", acted.outcome);
        acted.snapshot.unwrap()
    }

    /// helm as somebody uses it by hand.
    pub(crate) async fn install(&self, chart: &Chart) {
        let file = chart.write_to(self.home.path()).unwrap();
        let mut command = Command::new(self.program.find().unwrap());
        for name in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path());
        }
        command.args(["upgrade", "--install", "fleet"]).arg(file);
        command.args(["--namespace", "sea", "--create-namespace", "--kubeconfig"]);
        command.arg(self.plane.kubeconfig_file());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The revisions of the release, as number and status.
    pub(crate) async fn revisions(&self) -> Vec<(u32, String)> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), "sea");
        let list = secrets.list(&ListParams::default().labels("owner=helm,name=fleet")).await.unwrap();
        let mut found: Vec<(u32, String)> = list
            .items
            .iter()
            .map(|secret| {
                let labels = secret.labels();
                (labels["version"].parse().unwrap(), labels["status"].clone())
            })
            .collect();
        found.sort();
        found
    }

    /// What helm keeps of a revision.
    pub(crate) async fn record(&self, number: u32) -> Value {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), "sea");
        let secret = secrets.get(&format!("sh.helm.release.v1.fleet.v{number}")).await.unwrap();
        let packed = STANDARD.decode(&secret.data.unwrap()["release"].0).unwrap();
        serde_json::from_reader(GzDecoder::new(packed.as_slice())).unwrap()
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "sea")
    }

    pub(crate) async fn map(&self, name: &str) -> Option<std::collections::BTreeMap<String, String>> {
        self.maps().get_opt(name).await.unwrap().map(|map| map.data.unwrap_or_default())
    }

    /// Objects of any kind, in `sea` or in none.
    pub(crate) fn of(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }

    pub(crate) fn crds(&self) -> Api<DynamicObject> {
        self.of("apiextensions.k8s.io", "v1", "CustomResourceDefinition", None)
    }

    pub(crate) fn boats(&self) -> Api<DynamicObject> {
        self.of("sea.dev", "v1", "Boat", Some("default"))
    }

    /// Launches a boat, and gives its uid.
    pub(crate) async fn launch(&self, name: &str) -> String {
        let boat = json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "metadata": {"name": name},
            "spec": {"sails": 1}});
        let boat = serde_json::from_value(boat).unwrap();
        let made = until("boats to be taken", MINUTE, async || {
            self.boats().create(&PostParams::default(), &boat).await.ok()
        });
        made.await.unwrap().uid().unwrap()
    }
}

/// The definition of boats.
pub(crate) fn definition(fields: &[&str]) -> Value {
    let mut spec = Map::new();
    for field in fields {
        spec.insert((*field).to_owned(), json!({"type": "integer"}));
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {"group": "sea.dev", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}}}]}})
}

/// A chart with a `ConfigMap` of this text.
pub(crate) fn chart(version: &str) -> ChartBuilder {
    ChartBuilder::new("boats", version).app_version("7").values("sails: 1\n").template(
        "config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {sails: \"{{ .Values.sails }}\", chart: \"{{ .Chart.Version }}\"}\n",
    )
}

pub(crate) fn layer(values: &Value) -> Layer {
    Layer::new("deployment", values.as_object().unwrap().clone())
}

pub(crate) fn released(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Done(Found::Released(revision)) => &revision.0,
        other => panic!("{other:?}"),
    }
}
