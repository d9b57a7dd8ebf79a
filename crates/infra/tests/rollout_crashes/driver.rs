//! Drives many cases at once: claims what is due as servers do, keeps claims while their servers live, and moves
//! the time of each case on when nothing is left to be done before.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::rollout::{ClusterState, Runs, Stage, Status};
use slipway_infra::postgres::PostgresStore;
use slipway_infra::workers::Runner;
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::store::{Claim, RolloutRows as _, RolloutWrite, Sealed, WorkRows as _};
use slipway_orchestrator::rollouts::{
    Engine, LookWorker, ROLLOUT, ROLLOUT_LOOK, ROLLOUT_STEP, RolloutWorker, StepWorker, deciding,
};
use slipway_orchestrator::workers::Next;
use slipway_orchestrator::{Changeset, Error};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::case::{Case, Fault, HELD, Held, Place};
use crate::ledger::Rows;
use crate::plans::{CLUSTERS, Plan};
use crate::site::{Credentials, Site};
use crate::support::{Stored, database};
use crate::world::Clusters;

/// How long a claim holds unless it is kept. The lease of a server that is lost is ended at once: nobody has to
/// wait, and a busy machine loses no claims.
const LEASE: Duration = Duration::from_secs(30);
/// The same where servers run by themselves: one that is killed may still have claimed something.
const SERVER_LEASE: Duration = Duration::from_secs(2);
/// How many cases are driven at once.
const AT_ONCE: usize = 8;
/// How long all of them together may take.
const LONGEST: Duration = Duration::from_mins(10);

/// How a case ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) fault: Fault,
    pub(crate) status: Status,
    pub(crate) sites: BTreeMap<Name, Site>,
    pub(crate) clusters: BTreeMap<Name, (Stage, Runs)>,
    /// Every step that was intended, by its key, with its outcome.
    pub(crate) steps: BTreeMap<String, String>,
    pub(crate) places: Vec<Place>,
    pub(crate) happened: bool,
    /// What must not be.
    pub(crate) faults: Vec<String>,
}

/// A case on its way.
#[derive(Clone)]
struct Driven {
    case: Arc<Case>,
    world: Arc<Clusters>,
    engine: Engine,
}

/// Drives cases on one database.
pub(crate) struct Driver {
    stored: Stored,
    clusters: BTreeMap<Name, ClusterId>,
}

impl Driver {
    pub(crate) async fn start() -> Self {
        let stored = database().await;
        let mut clusters = BTreeMap::new();
        for cluster in CLUSTERS {
            let id = ClusterId(Uuid::new_v4());
            sqlx::query(
                "INSERT INTO clusters (id, name, environment, api_server_url, credential_kind,
                     credential_changed_at, registered_at, updated_at)
                 VALUES ($1, $2, 'Staging', 'https://cluster.test', 'Token', now(), now(), now())",
            )
            .bind(id.0)
            .bind(cluster)
            .execute(stored.store.pool())
            .await
            .unwrap();
            clusters.insert(cluster.parse().unwrap(), id);
        }
        Self { stored, clusters }
    }

    fn store(&self) -> &PostgresStore {
        &self.stored.store
    }

    /// Runs a plan once with each fault; the results are in the order of the faults.
    pub(crate) async fn run(&self, plan: Plan, faults: impl IntoIterator<Item = Fault>) -> Vec<Ended> {
        let mut waiting: VecDeque<(usize, Fault)> = faults.into_iter().enumerate().collect();
        let mut driven: BTreeMap<RolloutId, (usize, Driven)> = BTreeMap::new();
        let mut ended = BTreeMap::new();
        let woken = Arc::new(Notify::new());
        let begun = tokio::time::Instant::now();
        while !waiting.is_empty() || !driven.is_empty() {
            while driven.len() < AT_ONCE
                && let Some((number, fault)) = waiting.pop_front()
            {
                let begun = self.begin(plan, fault).await;
                driven.insert(begun.case.id, (number, begun));
            }
            for held in driven.values().flat_map(|(_, one)| one.case.lost()) {
                self.end_lease(&held).await;
            }
            for kind in [ROLLOUT, ROLLOUT_STEP, ROLLOUT_LOOK] {
                for claim in self.store().claim(kind, 64, LEASE).await.unwrap() {
                    let id = claim.work.key.split('/').next().unwrap().parse().unwrap();
                    let Some((_, driven)) = driven.get(&id) else { continue };
                    spawn(self.store().clone(), driven.clone(), claim, Arc::clone(&woken));
                }
            }
            let mut over = self.move_on(&driven).await;
            over.extend(driven.iter().filter(|(_, (_, one))| one.case.is_wrong()).map(|(id, _)| *id));
            over.dedup();
            for id in over {
                let Some((number, over)) = driven.remove(&id) else { continue };
                over.case.stop();
                self.forget(id).await;
                ended.insert(number, self.end(over).await);
            }
            assert!(begun.elapsed() < LONGEST, "{plan:?}: {:#?}", self.left(&driven).await);
            let _ = tokio::time::timeout(Duration::from_millis(5), woken.notified()).await;
        }
        ended.into_values().collect()
    }

    /// Runs a plan on real servers, one after the other: each is killed with its runner, and the next one takes
    /// over.
    pub(crate) async fn run_servers(&self, plan: Plan) -> (Ended, usize) {
        let driven = self.begin(plan, Fault::KillEach).await;
        let (case, id) = (Arc::clone(&driven.case), driven.case.id);
        let (begun, mut servers) = (tokio::time::Instant::now(), 0);
        let all = BTreeMap::from([(id, (0, driven.clone()))]);
        let over = loop {
            if case.is_idle() {
                sqlx::query(
                    "UPDATE work SET claim_until = now() - interval '1 second' WHERE claimed_by = $1",
                )
                .bind(format!("server-{servers}"))
                .execute(self.store().pool())
                .await
                .unwrap();
                servers += 1;
                let store = self.stored.another(&format!("server-{servers}")).await;
                let engine = &driven.engine;
                let runner = Runner::new(store)
                    .with(Arc::new(RolloutWorker::new(engine.clone()).lease_of(SERVER_LEASE)))
                    .with(Arc::new(StepWorker::new(engine.clone()).lease_of(SERVER_LEASE)))
                    .with(Arc::new(LookWorker::new(engine.clone()).lease_of(SERVER_LEASE)));
                let running = tokio::spawn(runner.run(std::future::pending()));
                let held = Held { kind: "server", key: servers.to_string(), epoch: 0 };
                case.run(held, running.abort_handle());
            }
            if self.jump(&all, vec![id]).await.contains(&id) {
                break all.into_values().next().unwrap().1;
            }
            // A jump changes no row that a server would hear of.
            sqlx::query("SELECT pg_notify('slipway', 'rollout rollout-step rollout-look')")
                .execute(self.store().pool())
                .await
                .unwrap();
            assert!(begun.elapsed() < LONGEST, "{plan:?}: {:#?}", self.left(&all).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        over.case.stop();
        (self.end(over).await, servers)
    }

    /// Whatever is left to be done for a case that is over is not done.
    async fn forget(&self, id: RolloutId) {
        sqlx::query("DELETE FROM work WHERE split_part(key, '/', 1) = $1")
            .bind(id.to_string())
            .execute(self.store().pool())
            .await
            .unwrap();
    }

    /// As if so much time had passed that a lease is over.
    async fn end_lease(&self, held: &Held) {
        sqlx::query(
            "UPDATE work SET claim_until = now() - interval '1 second'
             WHERE kind = $1 AND key = $2 AND epoch = $3 AND claim_until IS NOT NULL",
        )
        .bind(held.kind)
        .bind(&held.key)
        .bind(held.epoch)
        .execute(self.store().pool())
        .await
        .unwrap();
    }

    async fn begin(&self, plan: Plan, fault: Fault) -> Driven {
        let operator = OperatorId(Uuid::new_v4());
        sqlx::query(
            "INSERT INTO operators (id, name, namespace, chart_repository, chart_name, created_at, updated_at)
             VALUES ($1, $2, 'boats', 'https://charts.test', 'boats', now(), now())",
        )
        .bind(operator.0)
        .bind(format!("boats-{}", operator.0.simple()))
        .execute(self.store().pool())
        .await
        .unwrap();
        let now = self.store().time().await.unwrap();
        let rollout = plan.rollout(operator, &self.clusters, now);
        let case = Arc::new(Case::new(rollout.id, fault));
        let world = Arc::new(Clusters {
            store: self.store().clone(),
            case: Arc::clone(&case),
            plan,
            sites: Mutex::new(self.clusters.keys().map(|name| (name.clone(), Site::new())).collect()),
            credentials: Mutex::new(Credentials::default()),
        });
        let rows = Rows { store: self.store().clone(), case: Arc::clone(&case) };
        let engine = Engine::new(Arc::new(rows), Arc::clone(&world) as _);
        let work = deciding(rollout.id);
        let begin = RolloutWrite::Begin { rollout: Box::new(rollout), values: Sealed(Vec::new()) };
        self.store().commit(Changeset::new().write(begin).due(work, now)).await.unwrap();
        Driven { case, world, engine }
    }

    /// Moves the time of those on that only wait, and says which are over.
    async fn move_on(&self, driven: &BTreeMap<RolloutId, (usize, Driven)>) -> Vec<RolloutId> {
        let idle: Vec<RolloutId> =
            driven.iter().filter(|(_, (_, one))| one.case.is_idle()).map(|(id, _)| *id).collect();
        if idle.is_empty() { Vec::new() } else { self.jump(driven, idle).await }
    }

    /// The same of some, of whom nobody has a claim.
    async fn jump(
        &self,
        driven: &BTreeMap<RolloutId, (usize, Driven)>,
        idle: Vec<RolloutId>,
    ) -> Vec<RolloutId> {
        let ids: Vec<String> = idle.iter().map(ToString::to_string).collect();
        let jumps: Vec<(String, Option<f64>)> = sqlx::query_as(
            "WITH waiting AS (
                 SELECT id, min(w.due_at) - now() AS by, coalesce(bool_or(w.claim_until IS NOT NULL), false) AS held
                 FROM unnest($1::text[]) AS id LEFT JOIN work w ON split_part(w.key, '/', 1) = id GROUP BY id
             ), moved AS (
                 UPDATE work SET due_at = due_at - waiting.by FROM waiting
                 WHERE split_part(work.key, '/', 1) = waiting.id AND NOT held AND waiting.by > interval '0'
             )
             SELECT id, extract(epoch FROM by)::float8 FROM waiting WHERE NOT held",
        )
        .bind(ids)
        .fetch_all(self.store().pool())
        .await
        .unwrap();
        let mut over = Vec::new();
        for (id, by) in jumps {
            let id = id.parse().unwrap();
            match by {
                Some(by) if by > 0.0 => driven[&id].1.case.jump(SignedDuration::from_secs_f64(by)),
                Some(_) => {}
                None => over.push(id),
            }
        }
        over
    }

    async fn end(&self, over: Driven) -> Ended {
        let id = over.case.id;
        let rollout = self.store().rollout(id).await.unwrap().unwrap();
        let mut faults = over.case.what_is_wrong();
        if !rollout.state.status.is_end() {
            faults.push(format!("nothing goes on, and it is {}", rollout.state.status));
        }
        let ids: Vec<ClusterId> = self.clusters.values().copied().collect();
        if !self.store().reservations(rollout.operator, &ids).await.unwrap().is_empty() {
            faults.push("it ended, and still holds clusters".to_owned());
        }
        let steps = self.store().steps(id).await.unwrap();
        let told = |(name, cluster): (&Name, &ClusterState)| (name.clone(), (cluster.stage, cluster.runs));
        Ended {
            fault: over.case.fault.clone(),
            status: rollout.state.status,
            sites: over.world.sites.lock().unwrap().clone(),
            clusters: rollout.state.clusters.iter().map(told).collect(),
            steps: steps.iter().map(|step| (step.key.to_string(), format!("{:?}", step.outcome))).collect(),
            places: over.case.places(),
            happened: over.case.happened(),
            faults,
        }
    }

    /// What is still to be done, for those who read why it took too long.
    async fn left(&self, driven: &BTreeMap<RolloutId, (usize, Driven)>) -> Vec<String> {
        let rows: Vec<(String,)> = sqlx::query_as("SELECT work::text FROM work ORDER BY kind, key")
            .fetch_all(self.store().pool())
            .await
            .unwrap();
        let cases = driven.values().map(|(_, one)| format!("{}: {}", one.case.id, one.case.fault));
        cases.chain(rows.into_iter().map(|(row,)| row)).collect()
    }
}

/// A server does a piece of work, as the runner has it done.
fn spawn(store: PostgresStore, driven: Driven, claim: Claim, woken: Arc<Notify>) {
    let held = Held { kind: claim.work.kind, key: claim.work.key.clone(), epoch: claim.epoch };
    let (case, ended) = (Arc::clone(&driven.case), held.clone());
    // It must not run before the case knows it: whoever is killed takes all its tasks along.
    let (go, told) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let _ = told.await;
        let work = HELD.scope(held.clone(), piece(&driven, &claim));
        let kept = keep(&store, &driven.case, &held, &claim);
        let done = tokio::select! {
            done = work => done,
            () = kept => unreachable!("a claim is kept until the work is done"),
        };
        give_back(&store, &driven.case, &held, &claim, done).await;
        driven.case.ended(&held);
        woken.notify_one();
    });
    case.run(ended, task.abort_handle());
    let _ = go.send(());
}

async fn piece(driven: &Driven, claim: &Claim) -> Result<Next, Error> {
    let mut done = once(driven, claim).await;
    if driven.case.fault == Fault::Twice {
        done = once(driven, claim).await;
    }
    done
}

async fn once(driven: &Driven, claim: &Claim) -> Result<Next, Error> {
    match claim.work.kind {
        ROLLOUT => driven.engine.tick(claim).await,
        ROLLOUT_STEP => driven.engine.step(claim).await,
        ROLLOUT_LOOK => driven.engine.look(claim).await,
        other => unreachable!("no plan has work of the kind {other}"),
    }
}

/// Keeps a claim for as long as its server is not stopped.
async fn keep(store: &PostgresStore, case: &Case, held: &Held, claim: &Claim) {
    loop {
        tokio::time::sleep(LEASE / 3).await;
        if case.keeps(held) {
            let _ = store.keep(claim, LEASE).await;
        }
    }
}

async fn give_back(
    store: &PostgresStore,
    case: &Case,
    held: &Held,
    claim: &Claim,
    done: Result<Next, Error>,
) {
    match done {
        Ok(Next::After(pause)) => store.release(claim, pause).await.unwrap(),
        Ok(Next::Ended) => {
            let finish = Changeset::new().finish(claim.work.clone()).fenced(claim.fence());
            if store.commit(finish).await.is_ok() {
                store.release(claim, Duration::ZERO).await.unwrap();
            }
        }
        Err(error) => {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            if why == "another server took over" {
                case.fenced(held);
            } else {
                case.wrong(format!("{} {}: {why}", held.kind, held.key));
            }
            store.release(claim, Duration::ZERO).await.unwrap();
        }
    }
}
