//! Two colours of an operator of our own runtime on a real node: admission is served at every moment of the switch,
//! and no two of them ever write at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_domain::profile::{Colour, Profile};
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::{Beside, Snapshot, Subject};
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::guardian::guardian;
use slipway_testkit::{Image, Program, RealCluster, skipped, until};

use crate::dock::{Dock, Ground, layer, released};

const PATIENCE: Duration = Duration::from_mins(4);
const NAME: &str = "application-operator";
const CRD: &str = "applications.cloudnative.elide.dev";
const LEASE: &str = "application-operator-leader";
const BLUE: &str = "fleet-application-operator";
const GREEN: &str = "fleet-green-application-operator";

/// The chart of this repository at another version.
fn chart(version: &str) -> Chart {
    fn add(builder: ChartBuilder, folder: &Path, prefix: &str, version: &str) -> ChartBuilder {
        let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        entries.into_iter().fold(builder, |builder, entry| {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                return add(builder, &entry.path(), &format!("{name}/"), version);
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let is_chart = name == "Chart.yaml";
            let text =
                if is_chart { text.replace("ersion: 0.1.0", &format!("ersion: {version}")) } else { text };
            builder.file(&name, &text)
        })
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts").join(NAME);
    add(ChartBuilder::new(NAME, version), &folder, "", version).build().unwrap()
}

/// What is asked of the cluster all the while, and how it went.
#[derive(Default)]
struct Traffic {
    stop: AtomicBool,
    admitted: AtomicU32,
    denied: AtomicU32,
    converted: AtomicU32,
    wrong: std::sync::Mutex<Vec<String>>,
}

fn application(name: &str, image: &str) -> DynamicObject {
    serde_json::from_value(json!({"apiVersion": "cloudnative.elide.dev/v1", "kind": "Application",
        "metadata": {"name": name}, "spec": {"image": image, "replicas": 0}}))
    .unwrap()
}

impl Traffic {
    /// Asks without end: for something that is taken, for something that is not, and for another version.
    async fn run(self: Arc<Self>, apps: Api<DynamicObject>, others: Api<DynamicObject>) {
        let tried = PostParams { dry_run: true, ..PostParams::default() };
        let good = application("good", "docker.io/library/nginx:1.27");
        let bad = application("bad", "docker.io/library/ubuntu:24.04");
        while !self.stop.load(Ordering::Relaxed) {
            match apps.create(&tried, &good).await {
                Ok(_) => self.admitted.fetch_add(1, Ordering::Relaxed),
                Err(error) => self.note(&format!("a good one was refused: {error}")),
            };
            match apps.create(&tried, &bad).await {
                Err(kube::Error::Api(status)) if status.message.contains("denied the request") => {
                    self.denied.fetch_add(1, Ordering::Relaxed)
                }
                other => self.note(&format!("a bad one was not judged: {other:?}")),
            };
            match others.get("one").await {
                Ok(_) => self.converted.fetch_add(1, Ordering::Relaxed),
                Err(error) => self.note(&format!("an object was not converted: {error}")),
            };
        }
    }

    fn note(&self, text: &str) -> u32 {
        self.wrong.lock().unwrap().push(format!("{} {text}", jiff::Timestamp::now()));
        0
    }

    /// Waits until each was asked a few times more, and says what went wrong.
    async fn goes_on(&self) {
        let all = [&self.admitted, &self.denied, &self.converted];
        let before = all.map(|count| count.load(Ordering::Relaxed));
        until("requests to go on", PATIENCE, async || {
            let more =
                all.iter().zip(before).all(|(count, before)| count.load(Ordering::Relaxed) >= before + 3);
            (more || !self.wrong.lock().unwrap().is_empty()).then_some(())
        })
        .await
        .unwrap();
        assert_eq!(*self.wrong.lock().unwrap(), Vec::<String>::new());
    }
}

struct Scene {
    dock: Dock,
    subject: Subject,
    snapshot: Snapshot,
}

impl Scene {
    fn apps(&self, version: &str) -> Api<DynamicObject> {
        self.dock.of("cloudnative.elide.dev", version, "Application", Some("default"))
    }

    async fn act(&self, kind: StepKind) {
        let outcome = self.dock.act(&self.subject, kind, Some(&self.snapshot)).await;
        assert_eq!(outcome, Outcome::Done(Found::Nothing), "{kind:?}");
    }

    /// Who converts.
    async fn converter(&self) -> String {
        let crd = self.dock.crds().get(CRD).await.unwrap();
        let service = crd.data.pointer("/spec/conversion/webhook/clientConfig/service/name");
        service.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    async fn leader(&self) -> String {
        let lease = Api::<Lease>::namespaced(self.dock.client.clone(), "sea").get(LEASE).await.unwrap();
        lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
    }

    async fn replicas(&self, name: &str) -> Option<i32> {
        let live = Api::<Deployment>::namespaced(self.dock.client.clone(), "sea").get(name).await.unwrap();
        live.spec.replicas
    }

    /// Has the controller do something, and waits until it did.
    async fn work(&self, round: u32) {
        let apps = self.apps("v1");
        for name in ["one", "two"] {
            let patch = json!({"spec": {"config": {"ROUND": round.to_string()}}});
            apps.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        }
        for name in ["one", "two"] {
            until(&format!("round {round} of {name}"), PATIENCE, async || {
                let app = apps.get(name).await.ok()?;
                let seen = app.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
                (seen == app.metadata.generation).then_some(())
            })
            .await
            .unwrap();
        }
    }

    /// The writes of both colours in order, leases and events aside: who, and which object.
    fn writes(&self) -> Vec<(String, String)> {
        let Ground::Node(cluster, _) = &self.dock.plane else { panic!("it has a node") };
        let log = std::fs::read_to_string(cluster.audit_log()).unwrap();
        let mut writes: Vec<(String, String, String)> = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| {
                let user = event.pointer("/user/username")?.as_str()?.rsplit(':').next()?.to_owned();
                let object = event.get("objectRef")?;
                let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let ours = [BLUE, GREEN].contains(&user.as_str());
                let works = text("namespace") == "default" && text("resource") != "events";
                let at = event.get("requestReceivedTimestamp")?.as_str()?.to_owned();
                (ours && works).then(|| (at, user, format!("{} {}", text("resource"), text("name"))))
            })
            .collect();
        writes.sort();
        writes.into_iter().map(|(_, user, object)| (user, object)).collect()
    }
}

async fn blue() -> Option<Scene> {
    if let Err(reason) = RealCluster::allowed() {
        skipped(&reason);
        return None;
    }
    let program = guardian().unwrap().with_file_name(NAME);
    if !program.is_file() {
        skipped("the operator is not built; cargo build -p slipway-application-operator builds it");
        return None;
    }
    let cluster = RealCluster::start("colours").await.unwrap();
    for version in ["0.1.0", "0.2.0"] {
        let image = Image::from_binary(&format!("slipway.dev/{NAME}:{version}"), &program).unwrap();
        cluster.load_image(&image).await.unwrap();
    }
    let dock = Dock::with_node(Program::Helm4, cluster).await;
    let mut subject = dock.subject(&chart("0.1.0"));
    subject.profile = Profile::built_in(NAME).unwrap();
    subject.crds = vec![CRD.to_owned()];
    subject.layers = vec![layer(&json!({"replicaCount": 1}))];
    subject.placement.installed = false;
    let outcome = dock.act(&subject, StepKind::Crds, None).await;
    assert_eq!(outcome, Outcome::Done(Found::Nothing));
    assert_eq!(released(&dock.act(&subject, StepKind::Release, None).await), "sea/fleet.v1");
    arrived(&dock, &subject).await;

    let mut subject = Subject { archive: dock.subject(&chart("0.2.0")).archive, ..subject };
    subject.version = "0.2.0".parse().unwrap();
    subject.rollout = uuid::Uuid::new_v4().into();
    subject.placement.installed = true;
    let green = ReleaseAt { namespace: "sea".to_owned(), name: "fleet-green".to_owned() };
    subject.placement.beside = Some(Beside { release: green, colour: Colour::Green });
    let snapshot = Snapshot::default();
    Some(Scene { dock, subject, snapshot })
}

/// Waits until a release runs and is well enough to answer.
async fn arrived(dock: &Dock, subject: &Subject) {
    let name = subject.placement.beside.as_ref().map_or(BLUE, |_| GREEN);
    until("the operator to be ready", PATIENCE, async || {
        let standing = dock.fleet.standing(subject).await.unwrap();
        let live = Api::<Deployment>::namespaced(dock.client.clone(), "sea").get_opt(name).await.unwrap()?;
        (standing.arrived.is_ok() && live.status?.ready_replicas == Some(1)).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn two_colours_hand_over_without_a_request_refused_or_an_object_written_by_both() {
    let Some(mut scene) = blue().await else { return };
    let apps = scene.apps("v1");
    for name in ["one", "two"] {
        until("applications to be taken", PATIENCE, async || {
            let app = application(name, "docker.io/library/nginx:1.27");
            apps.create(&PostParams::default(), &app).await.ok()
        })
        .await
        .unwrap();
    }
    scene.work(1).await;
    let traffic = Arc::new(Traffic::default());
    let running = tokio::spawn(Arc::clone(&traffic).run(apps.clone(), scene.apps("v1beta1")));
    traffic.goes_on().await;

    scene.snapshot = scene.dock.snapshot(&scene.subject).await;
    let report = scene.dock.fleet.preflight(&scene.subject, jiff::Timestamp::now()).await.unwrap();
    assert_eq!(report.refusals().count(), 0, "{:?}", report.findings);
    let blue_service = format!("{BLUE}-webhook");
    let acted =
        scene.dock.fleet.act(&Dock::step(&scene.subject, StepKind::Crds, Some(&scene.snapshot))).await;
    assert_eq!(acted.outcome, Outcome::Done(Found::Nothing));
    assert_eq!(scene.converter().await, blue_service, "green is not there yet");
    let outcome = scene.dock.act(&scene.subject, StepKind::Release, Some(&scene.snapshot)).await;
    assert_eq!(released(&outcome), "sea/fleet-green.v1");
    arrived(&scene.dock, &scene.subject).await;
    scene.work(2).await;
    traffic.goes_on().await;
    assert_eq!(scene.converter().await, blue_service, "blue is at work");
    assert!(scene.leader().await.starts_with(BLUE));
    let before = scene.writes();
    assert!(before.iter().all(|(who, _)| who == BLUE), "{before:?}");

    for round in [3, 4] {
        // Twice equals once.
        scene.act(StepKind::Switch).await;
        assert!(scene.leader().await.starts_with(GREEN), "{}", scene.leader().await);
        assert_eq!(scene.converter().await, format!("{GREEN}-webhook"));
        assert_eq!(scene.replicas(BLUE).await, Some(0));
        scene.work(round).await;
        traffic.goes_on().await;
    }
    scene.act(StepKind::SwitchBack).await;
    assert!(scene.leader().await.starts_with(BLUE) && !scene.leader().await.starts_with(GREEN));
    assert_eq!(scene.converter().await, blue_service);
    assert_eq!(scene.replicas(GREEN).await, Some(0));
    scene.work(5).await;
    traffic.goes_on().await;
    traffic.stop.store(true, Ordering::Relaxed);
    running.await.unwrap();

    // Blue, then green, then blue: nobody wrote between the other's writes.
    let writes = scene.writes();
    let mut turns: Vec<&str> = writes.iter().map(|(who, _)| who.as_str()).collect();
    turns.dedup();
    assert_eq!(turns, [BLUE, GREEN, BLUE], "{writes:?}");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (who, _) in &writes {
        *counts.entry(who).or_default() += 1;
    }
    assert!(counts[GREEN] >= 2 && counts[BLUE] >= 4, "{counts:?}");
    println!(
        "{} admitted, {} denied, {} converted; writes {counts:?}",
        traffic.admitted.load(Ordering::Relaxed),
        traffic.denied.load(Ordering::Relaxed),
        traffic.converted.load(Ordering::Relaxed)
    );
}
