//! Deployments as people and programs see them. Clusters are in memory; the engine and the database are real.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod served;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use served::fleet::Waters;
use served::{Server, server_on, server_with};
use slipway_client::ClientError;
use slipway_contract::approvals::{
    Approval, ApprovalStatus, ApprovalStatusFilter, ApprovalsQuery, ApproveRequest,
};
use slipway_contract::audit::AuditQuery;
use slipway_contract::deployments::{
    CancelRequest, ClusterRolloutStatus, DeploymentApprovalStatus, DeploymentDetailReply, DeploymentStatus,
    DeploymentStrategy, DeploymentsQuery, DryRunCluster, ExtendRequest, PauseRequest, PreflightLevel,
    RetryRequest, RollbackRequest, SkipRequest, StepResult, UninstallRequest, WaveState,
};
use slipway_contract::settings::ApplyRequest;
use slipway_domain::access::{Environment, Role};
use slipway_orchestrator::Settings;
use slipway_orchestrator::rollouts::RolloutSettings;
use slipway_testkit::charts::ChartRepository;

const PATIENCE: Duration = Duration::from_mins(2);

struct World {
    server: Server,
    waters: Waters,
    charts: ChartRepository,
}

/// A fleet of three with an operator; nothing drives it yet.
async fn world() -> World {
    let waters = Waters::default();
    let server = server_on(&waters).await;
    server
        .clusters(&[
            ("dev", Environment::Development),
            ("stage", Environment::Staging),
            ("prod", Environment::Production),
        ])
        .await;
    let charts = server.greeter().await;
    World { server, waters, charts }
}

fn wanted(clusters: &[&str]) -> Value {
    json!({"operatorName": "greeter", "targetVersion": "1.1.0", "targetClusters": clusters})
}

fn refused(error: ClientError) -> (u16, String, String, Vec<String>) {
    let ClientError::Refused { status, body } = error else { panic!("{error}") };
    let details = body
        .details
        .iter()
        .map(|detail| format!("{} {}", detail.path.as_deref().unwrap_or_default(), detail.message));
    (status, body.code.clone(), body.message.clone(), details.collect())
}

async fn ends(world: &World, id: &str) -> DeploymentDetailReply {
    reaches(world, id, |detail| detail.deployment.status.is_end()).await
}

async fn reaches(
    world: &World,
    id: &str,
    there: impl Fn(&DeploymentDetailReply) -> bool,
) -> DeploymentDetailReply {
    let began = Instant::now();
    loop {
        let detail = world.server.client(Role::Viewer).deployment(id).await.unwrap();
        if there(&detail) {
            return detail;
        }
        assert!(began.elapsed() < PATIENCE, "it does not get there: {detail:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_deployment_begins_in_the_shape_of_the_specification() {
    let world = world().await;
    let operator = world.server.client(Role::Operator);
    let begun = operator.start_deployment(&wanted(&["prod", "dev"])).await.unwrap();
    let value = serde_json::to_value(&begun).unwrap();
    for key in [
        "deploymentId",
        "operatorName",
        "targetVersion",
        "previousVersion",
        "strategy",
        "status",
        "targetClusters",
        "initiatedBy",
        "approvalStatus",
        "startedAt",
        "successfulClusters",
        "failedClusters",
        "successRate",
        "estimatedCompletionAt",
    ] {
        assert!(keys(&value).contains(&key), "{key}");
    }
    assert_eq!(begun.status, DeploymentStatus::Planning);
    assert_eq!(begun.approval_status, DeploymentApprovalStatus::Pending);
    assert_eq!(begun.strategy, DeploymentStrategy::Canary, "production is among the clusters");
    assert_eq!(begun.target_clusters, ["dev", "prod"], "by environment");
    assert_eq!(begun.initiated_by, "operator");

    let viewer = world.server.client(Role::Viewer);
    let id = begun.deployment_id.to_string();
    let detail = viewer.deployment(&id[..8]).await.unwrap();
    assert_eq!(detail.deployment.deployment_id, begun.deployment_id, "its first digits are enough");
    assert_eq!(detail.strategy_config["canaryConfig"]["stages"], json!([10, 30, 100]));
    assert_eq!(detail.settings["autoRollbackWindow"], "PT1H");
    let waves: Vec<_> =
        detail.waves.iter().map(|wave| (wave.number, wave.state, &wave.clusters[..])).collect();
    assert_eq!(waves[0], (1, WaveState::Waiting, &["dev".to_owned()][..]));
    let statuses: Vec<_> =
        detail.cluster_statuses.iter().map(|one| (&one.cluster_name[..], one.status)).collect();
    assert_eq!(statuses, [("dev", ClusterRolloutStatus::Pending), ("prod", ClusterRolloutStatus::Pending)]);
    let why = viewer.deployment_why(&id).await.unwrap();
    assert!(why.waits_for.unwrap().what.contains("preflight"));
    assert!(viewer.deployment_news(&id, 0).await.unwrap().news.is_empty());
    assert!(viewer.deployment_steps(&id).await.unwrap().steps.is_empty());
    assert!(viewer.deployment_preflight(&id).await.unwrap().clusters.is_empty());
    let back = viewer.rollback_status(&id).await.unwrap();
    assert!(back.rolled_back.is_empty() && back.waiting.is_empty());

    let query = async |query: DeploymentsQuery| viewer.deployments(&query).await.unwrap().page.total;
    assert_eq!(query(DeploymentsQuery::default()).await, 1);
    let of =
        |name: &str| DeploymentsQuery { operator_name: Some(name.to_owned()), ..DeploymentsQuery::default() };
    assert_eq!((query(of("greeter")).await, query(of("other")).await), (1, 0));
    let by =
        |name: &str| DeploymentsQuery { initiated_by: Some(name.to_owned()), ..DeploymentsQuery::default() };
    assert_eq!((query(by("operator")).await, query(by("admin")).await), (1, 0));
    let status = |status| DeploymentsQuery { status: Some(status), ..DeploymentsQuery::default() };
    assert_eq!(query(status(DeploymentStatus::Planning)).await, 1);
    assert_eq!(query(status(DeploymentStatus::Failed)).await, 0);
    let strategy =
        DeploymentsQuery { strategy: Some(DeploymentStrategy::Direct), ..DeploymentsQuery::default() };
    assert_eq!(query(strategy).await, 0);
}

#[tokio::test]
async fn everything_wrong_is_said_at_once_with_its_place() {
    let world = world().await;
    let operator = world.server.client(Role::Operator);
    let bad = json!({
        "operatorName": "greeter", "targetVersion": "9.9.9", "strategy": "Canary",
        "targetClusters": ["dev", "moon", "dev"], "maxUnavailable": 0, "color": "blue",
        "strategyConfig": {"canaryConfig": {"initialPercentage": 0, "evaluationPeriod": "soon"}},
        "rollingConfig": {}, "helmValues": [], "supersede": "yes",
    });
    for error in
        [operator.start_deployment(&bad).await.unwrap_err(), operator.dry_run(&bad).await.unwrap_err()]
    {
        let (status, code, _, details) = refused(error);
        assert_eq!((status, code.as_str()), (400, "VALIDATION_ERROR"));
        let places: Vec<&str> = details.iter().map(|detail| detail.split(' ').next().unwrap()).collect();
        for place in [
            "color",
            "maxUnavailable",
            "targetClusters[1]",
            "targetClusters[2]",
            "strategyConfig.canaryConfig.initialPercentage",
            "strategyConfig.canaryConfig.evaluationPeriod",
            "rollingConfig",
            "helmValues",
            "supersede",
            "targetVersion",
        ] {
            assert!(places.contains(&place), "{place} is not among {details:#?}");
        }
        let version = details.iter().find(|detail| detail.starts_with("targetVersion")).unwrap();
        assert!(version.contains("the newest are 1.1.0, 1.0.0"), "{version}");
    }
    let order = json!({"operatorName": "greeter", "targetVersion": "1.1.0", "targetClusters": ["dev", "stage"],
        "rollingConfig": {"clusterOrder": ["dev"]}});
    let (status, _, _, details) = refused(operator.start_deployment(&order).await.unwrap_err());
    assert_eq!(status, 400);
    assert!(details[0].starts_with("rollingConfig.clusterOrder"), "{details:?}");
    let nobody = json!({"operatorName": "nobody", "targetVersion": "1.0.0", "targetClusters": ["dev"]});
    let (status, code, ..) = refused(operator.start_deployment(&nobody).await.unwrap_err());
    assert_eq!((status, code.as_str()), (404, "OPERATOR_NOT_FOUND"));
    assert_eq!(operator.deployments(&DeploymentsQuery::default()).await.unwrap().page.total, 0);
}

#[tokio::test]
async fn a_second_deployment_on_a_busy_cluster_is_told_of_the_first() {
    let world = world().await;
    let operator = world.server.client(Role::Operator);
    let first = operator.start_deployment(&wanted(&["dev", "stage"])).await.unwrap().deployment_id;
    let (status, code, message, details) =
        refused(operator.start_deployment(&wanted(&["stage", "prod"])).await.unwrap_err());
    assert_eq!((status, code.as_str()), (409, "DEPLOYMENT_IN_PROGRESS"));
    assert!(message.contains(&first.to_string()), "{message}");
    assert!(details[0].contains("stage") && details[0].contains(&first.to_string()), "{details:?}");
    operator.start_deployment(&wanted(&["prod"])).await.unwrap();

    let mut instead = wanted(&["stage"]);
    instead["supersede"] = json!(true);
    operator.start_deployment(&instead).await.unwrap();
    let old = operator.deployment(&first.to_string()).await.unwrap();
    assert_eq!(old.deployment.status, DeploymentStatus::Cancelled, "it only waited");
}

#[tokio::test]
async fn what_nobody_knows_is_not_found() {
    let world = world().await;
    let admin = world.server.client(Role::Admin);
    for id in ["00000000-0000-4000-8000-000000000000", "abcd", "x", "%20"] {
        let (status, code, ..) = refused(admin.deployment(id).await.unwrap_err());
        assert_eq!((status, code.as_str()), (404, "DEPLOYMENT_NOT_FOUND"), "{id}");
        assert_eq!(refused(admin.resume_deployment(id).await.unwrap_err()).0, 404);
        assert_eq!(refused(admin.deployment_news(id, 0).await.unwrap_err()).0, 404);
    }
}

#[tokio::test]
async fn commands_that_make_no_sense_now_are_refused() {
    let world = world().await;
    let admin = world.server.client(Role::Admin);
    let id = admin.start_deployment(&wanted(&["dev", "stage"])).await.unwrap().deployment_id.to_string();
    let conflict = |error| {
        let (status, code, message, _) = refused(error);
        assert_eq!((status, code.as_str()), (409, "CONFLICT"), "{message}");
        message
    };
    conflict(admin.promote_deployment(&id).await.unwrap_err());
    conflict(admin.extend_deployment(&id, &ExtendRequest { by: "PT5M".to_owned() }).await.unwrap_err());
    conflict(admin.retry_deployment(&id, &RetryRequest::default()).await.unwrap_err());
    let back = RollbackRequest { reason: "it hurts".to_owned(), ..RollbackRequest::default() };
    let said = conflict(admin.roll_back(&id, &back).await.unwrap_err());
    assert!(said.contains("nothing to take back"), "{said}");
    let elsewhere = SkipRequest { cluster: "prod".to_owned() };
    conflict(admin.skip_cluster(&id, &elsewhere).await.unwrap_err());

    let invalid = |error, path: &str| {
        let (status, _, _, details) = refused(error);
        assert_eq!(status, 400);
        assert!(details.iter().any(|detail| detail.starts_with(path)), "{path}: {details:?}");
    };
    for by in ["soon", "PT0S", "-PT5M", "P400D"] {
        let request = ExtendRequest { by: by.to_owned() };
        invalid(admin.extend_deployment(&id, &request).await.unwrap_err(), "by");
    }
    let bad = RollbackRequest {
        reason: " ".to_owned(),
        target_clusters: Some(vec!["dev".to_owned(), "No Name".to_owned()]),
        down_migrate: None,
    };
    let (status, _, _, details) = refused(admin.roll_back(&id, &bad).await.unwrap_err());
    assert_eq!((status, details.len()), (400, 2), "{details:?}");
    let nothing = RetryRequest { clusters: Some(Vec::new()) };
    invalid(admin.retry_deployment(&id, &nothing).await.unwrap_err(), "clusters");
}

#[tokio::test]
async fn only_those_who_may_steer() {
    let world = world().await;
    let id = world.server.client(Role::Operator).start_deployment(&wanted(&["dev"])).await.unwrap();
    let id = id.deployment_id.to_string();
    let viewer = world.server.client(Role::Viewer);
    let forbidden = |error| assert_eq!(refused(error).0, 403);
    forbidden(viewer.start_deployment(&wanted(&["stage"])).await.unwrap_err());
    forbidden(viewer.dry_run(&wanted(&["stage"])).await.unwrap_err());
    forbidden(viewer.pause_deployment(&id, &PauseRequest::default()).await.unwrap_err());
    forbidden(viewer.cancel_deployment(&id, &CancelRequest::default()).await.unwrap_err());
    let back = RollbackRequest { reason: "no".to_owned(), ..RollbackRequest::default() };
    forbidden(world.server.client(Role::Operator).roll_back(&id, &back).await.unwrap_err());
    let mut emergency = wanted(&["stage"]);
    emergency["emergency"] = json!({"reason": "outage"});
    forbidden(world.server.client(Role::Operator).start_deployment(&emergency).await.unwrap_err());
    let off = UninstallRequest { with_crds: false };
    forbidden(
        world.server.client(Role::Operator).uninstall_operator("greeter", "dev", &off).await.unwrap_err(),
    );
    forbidden(viewer.unmanage_operator("greeter", "dev").await.unwrap_err());
}

#[tokio::test]
async fn a_dry_run_looks_everywhere_and_begins_nothing() {
    let world = world().await;
    world.waters.refuse("stage");
    world.waters.lose("prod");
    let operator = world.server.client(Role::Operator);
    let report = operator.dry_run(&wanted(&["prod", "stage", "dev"])).await.unwrap();
    assert!(!report.fits);
    assert_eq!(report.settings["canaryConfig"]["evaluationPeriod"], "PT5M");
    let clusters: Vec<_> = report.clusters.iter().map(|one| (&one.cluster_name[..], one.fits)).collect();
    assert_eq!(clusters, [("dev", true), ("stage", false), ("prod", false)], "in the order of the waves");
    let found = report.clusters[1].preflight.as_ref().unwrap();
    let refusal = found.findings.iter().find(|finding| finding.level == PreflightLevel::Refused).unwrap();
    assert_eq!(
        (refusal.check.as_str(), &refusal.objects[..]),
        ("CRDs", &["Greeting shop/web".to_owned()][..])
    );
    assert_eq!(report.clusters[2].error.as_deref(), Some("connection timed out"));
    assert_eq!(operator.deployments(&DeploymentsQuery::default()).await.unwrap().page.total, 0);
}

/// Applies values of greeter, as a document.
async fn keep(world: &World, name: &str, scope: Value, values: Value) {
    let mut spec = scope;
    spec["operator"] = json!("greeter");
    spec["values"] = values;
    let document =
        json!({"apiVersion": "slipway.dev/v1", "kind": "Values", "metadata": {"name": name}, "spec": spec});
    let request = ApplyRequest { documents: vec![document], dry_run: false };
    world.server.client(Role::Admin).apply(&request).await.unwrap();
}

#[tokio::test]
async fn values_come_from_environment_cluster_and_deployment_in_this_order() {
    let world = world().await;
    let production = json!({"environments": ["Production"]});
    keep(&world, "production", production.clone(), json!({"replicas": 2, "region": "eu", "level": "warn"}))
        .await;
    keep(&world, "prod", json!({"clusters": ["prod"]}), json!({"region": "eu-west", "level": "error"})).await;
    keep(&world, "staging", json!({"environments": ["Staging"]}), json!({"replicas": 9})).await;
    let operator = world.server.client(Role::Operator);
    let mut asked = wanted(&["dev", "prod"]);
    asked["helmValues"] = json!({"level": "debug"});
    let look = async |asked: &Value| operator.dry_run(asked).await.unwrap().clusters;
    let clusters = look(&asked).await;
    let told = |at: usize| -> Vec<String> {
        let values = &clusters[at].preflight.as_ref().unwrap().values;
        let told = values.iter().map(|one| {
            let document = one.document.as_deref().unwrap_or("-");
            format!("{} {} {} {document}", one.path, one.value, one.source)
        });
        told.collect()
    };
    assert_eq!(told(0), ["level \"debug\" deployment -"], "another environment");
    assert_eq!(
        told(1),
        [
            "level \"debug\" deployment -",
            "region \"eu-west\" cluster prod",
            "replicas 2 environment production"
        ]
    );
    let digest = |clusters: &[DryRunCluster]| clusters[1].preflight.as_ref().unwrap().digest.clone();
    let before = digest(&clusters);
    assert_eq!(digest(&look(&asked).await), before);
    keep(&world, "production", production, json!({"replicas": 3, "region": "eu", "level": "warn"})).await;
    assert_ne!(digest(&look(&asked).await), before, "other values are another plan");
}

/// Everybody here is the same person, and may approve all the same.
async fn one_pair_of_eyes(world: &World) {
    let spec = json!({"type": "ProductionDeployment", "levels": [{"by": ["Admin"]}], "fourEyes": false});
    let document = json!({"apiVersion": "slipway.dev/v1", "kind": "ApprovalRule",
        "metadata": {"name": "production"}, "spec": spec});
    let request = ApplyRequest { documents: vec![document], dry_run: false };
    world.server.client(Role::Admin).apply(&request).await.unwrap();
}

#[tokio::test]
async fn a_plan_that_files_change_is_agreed_to_anew() {
    let world = world().await;
    one_pair_of_eyes(&world).await;
    world.server.drive();
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&wanted(&["prod"])).await.unwrap().deployment_id.to_string();
    let waits = |detail: &DeploymentDetailReply| {
        !detail.approvals.is_empty() && detail.deployment.approval_status == DeploymentApprovalStatus::Pending
    };
    reaches(&world, &id, waits).await;
    let all = ApprovalsQuery { status: Some(ApprovalStatusFilter::All), ..ApprovalsQuery::default() };
    let admin = world.server.client(Role::Admin);
    let asked = async || admin.approvals(&all).await.unwrap().approvals;
    let first = asked().await;
    let plan = first[0].plan_hash.clone();
    assert!(first.iter().all(|one| one.plan_hash == plan), "{first:#?}");
    keep(&world, "prod", json!({"clusters": ["prod"]}), json!({"replicas": 3})).await;
    for one in &first {
        admin.approve(&one.approval_id.to_string(), &ApproveRequest::default()).await.unwrap();
    }
    // It is looked at once more before the first change.
    let until = Instant::now() + PATIENCE;
    let anew = loop {
        let anew: Vec<Approval> = asked().await.into_iter().filter(|one| one.plan_hash != plan).collect();
        if !anew.is_empty() || Instant::now() > until {
            break anew;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(anew.iter().any(|one| one.status == ApprovalStatus::Pending), "{anew:#?}");
    let waiting = reaches(&world, &id, waits).await;
    assert_eq!(waiting.deployment.successful_clusters, 0);
    for one in &anew {
        admin.approve(&one.approval_id.to_string(), &ApproveRequest::default()).await.unwrap();
    }
    let released = |detail: &DeploymentDetailReply| detail.cluster_statuses[0].revision.is_some();
    reaches(&world, &id, released).await;
    let found = operator.deployment_preflight(&id).await.unwrap().clusters;
    assert_eq!(found[0].preflight.values[0].document.as_deref(), Some("prod"));
}

/// How a cluster's greeter differs from what was released, looked at now.
async fn drift(world: &World, cluster: &str) -> Option<Vec<String>> {
    let reply = world.server.client(Role::Operator).discover(cluster).await.unwrap();
    let drift = reply.installations.into_iter().find_map(|one| one.drift)?;
    Some(drift.objects.iter().map(|one| format!("{} {}", one.object, one.fields.join(" "))).collect())
}

async fn begun(world: &World) -> u64 {
    let operator = world.server.client(Role::Operator);
    operator.deployments(&DeploymentsQuery::default()).await.unwrap().page.total
}

async fn care(world: &World, mend: bool) {
    let spec = json!({"chartRepository": world.charts.url(), "namespace": "greetings",
        "profile": {"drift": {"mend": mend}}});
    let document = json!({"apiVersion": "slipway.dev/v1", "kind": "Operator", "metadata": {"name": "greeter"},
        "spec": spec});
    let request = ApplyRequest { documents: vec![document], dry_run: false };
    world.server.client(Role::Admin).apply(&request).await.unwrap();
}

#[tokio::test]
async fn drift_is_shown_and_mended_where_the_profile_says_so() {
    let world = world().await;
    one_pair_of_eyes(&world).await;
    world.server.drive();
    let admin = world.server.client(Role::Admin);
    let mut direct = wanted(&["dev", "prod"]);
    direct["strategy"] = json!("Direct");
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&direct).await.unwrap().deployment_id.to_string();
    reaches(&world, &id, |detail| !detail.approvals.is_empty()).await;
    world.waters.change("dev");
    assert_eq!(drift(&world, "dev").await, None, "it is being changed, and not there yet");
    for one in admin.approvals(&ApprovalsQuery::default()).await.unwrap().approvals {
        admin.approve(&one.approval_id.to_string(), &ApproveRequest::default()).await.unwrap();
    }
    let done = ends(&world, &id).await;
    assert_eq!(done.deployment.status, DeploymentStatus::Completed, "{done:#?}");
    assert_eq!(drift(&world, "prod").await, None);

    world.waters.change("prod");
    let seen = vec!["Deployment greetings/greeter spec.replicas: 5 → 1".to_owned()];
    assert_eq!(drift(&world, "prod").await, Some(seen.clone()));
    assert_eq!(drift(&world, "prod").await, Some(seen.clone()), "it is left as it is");
    assert_eq!(begun(&world).await, 1);
    let told = AuditQuery { action: Some("operator.drift".to_owned()), ..AuditQuery::default() };
    let entries = admin.audit(&told).await.unwrap().entries;
    assert_eq!(entries.len(), 1, "once: {entries:#?}");
    assert!(entries[0].message.contains("greeter on prod is not as it was released"), "{entries:#?}");

    care(&world, true).await;
    assert_eq!(drift(&world, "prod").await, Some(seen.clone()));
    assert_eq!(begun(&world).await, 2);
    let newest = operator.deployments(&DeploymentsQuery::default()).await.unwrap().deployments.remove(0);
    assert_eq!(
        (newest.initiated_by.as_str(), &newest.target_clusters[..]),
        ("system:drift", &["prod".to_owned()][..])
    );
    let mended = ends(&world, &newest.deployment_id.to_string()).await;
    assert_eq!(mended.deployment.status, DeploymentStatus::Completed, "{mended:#?}");
    assert!(mended.approvals.is_empty(), "people agreed to this plan already");
    assert_eq!(drift(&world, "prod").await, None);
    // What comes back at once is somebody else's all the time: it is shown, and not fought over.
    world.waters.change("prod");
    assert_eq!(drift(&world, "prod").await, Some(seen));
    assert_eq!(begun(&world).await, 2);

    // What is mended can be taken back as before.
    let back = RollbackRequest { reason: "we changed our mind".to_owned(), ..RollbackRequest::default() };
    admin.roll_back(&id, &back).await.unwrap();
    reaches(&world, &id, |detail| detail.deployment.status == DeploymentStatus::RolledBack).await;
}

#[tokio::test]
async fn drift_is_not_mended_with_anything_else_than_what_was_released() {
    let world = world().await;
    world.server.drive();
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&wanted(&["dev"])).await.unwrap().deployment_id.to_string();
    assert_eq!(ends(&world, &id).await.deployment.status, DeploymentStatus::Completed);
    care(&world, true).await;
    keep(&world, "dev", json!({"clusters": ["dev"]}), json!({"replicas": 9})).await;
    world.waters.change("dev");
    assert!(drift(&world, "dev").await.is_some());
    let newest = operator.deployments(&DeploymentsQuery::default()).await.unwrap().deployments.remove(0);
    assert_eq!(newest.initiated_by, "system:drift");
    let ended = ends(&world, &newest.deployment_id.to_string()).await;
    assert_eq!(ended.deployment.status, DeploymentStatus::Cancelled, "{ended:#?}");
    assert!(drift(&world, "dev").await.is_some());
}

#[tokio::test]
async fn a_deployment_is_driven_to_its_end_and_everything_is_told() {
    let world = world().await;
    world.server.drive();
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&wanted(&["dev"])).await.unwrap().deployment_id.to_string();
    let done = ends(&world, &id).await;
    assert_eq!(done.deployment.status, DeploymentStatus::Completed, "{done:#?}");
    assert_eq!((done.deployment.successful_clusters, done.deployment.progress), (1, 100));
    assert_eq!(done.deployment.approval_status, DeploymentApprovalStatus::NotRequired);
    let cluster = &done.cluster_statuses[0];
    assert_eq!(cluster.status, ClusterRolloutStatus::Completed);
    assert_eq!(cluster.revision.as_deref(), Some("greeter.v1"));
    assert!(cluster.health_check.is_some() && cluster.completed_at.is_some());
    assert!(done.waves.iter().all(|wave| wave.state == WaveState::Passed), "{:?}", done.waves);

    let steps = operator.deployment_steps(&id).await.unwrap().steps;
    let kinds: Vec<&str> = steps.iter().map(|step| step.kind.as_str()).collect();
    assert!(kinds.contains(&"preflight") && kinds.contains(&"release"), "{kinds:?}");
    assert!(steps.iter().all(|step| step.result == Some(StepResult::Done)), "{steps:#?}");
    let found = operator.deployment_preflight(&id).await.unwrap().clusters;
    assert_eq!((found.len(), found[0].preflight.fits), (1, true));
    let news = operator.deployment_news(&id, 0).await.unwrap();
    let numbers: Vec<i64> = news.news.iter().map(|one| one.number).collect();
    assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    assert!(!news.has_more && news.status == DeploymentStatus::Completed);
    let later = operator.deployment_news(&id, i64::try_from(numbers.len()).unwrap() - 1).await.unwrap();
    assert_eq!(later.news.len(), 1);

    let back = RollbackRequest { reason: "we changed our mind".to_owned(), ..RollbackRequest::default() };
    let reply = world.server.client(Role::Admin).roll_back(&id, &back).await.unwrap();
    assert_eq!(reply.status, DeploymentStatus::RollingBack);
    assert_eq!(
        (reply.target_clusters, reply.rollback_reason.as_str()),
        (vec!["dev".to_owned()], "we changed our mind")
    );
    let undone =
        reaches(&world, &id, |detail| detail.deployment.status == DeploymentStatus::RolledBack).await;
    assert!(undone.rolled_back_at.is_some());
    assert!(undone.rollback_reason.unwrap().contains("we changed our mind"));
    assert_eq!(operator.rollback_status(&id).await.unwrap().rolled_back, ["dev"]);
}

#[tokio::test]
async fn a_failure_is_taken_back_and_says_why() {
    let world = world().await;
    world.waters.break_helm("dev");
    world.server.drive();
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&wanted(&["dev"])).await.unwrap().deployment_id.to_string();
    let end = ends(&world, &id).await;
    assert_eq!(end.deployment.status, DeploymentStatus::RolledBack, "{end:#?}");
    assert!(end.rollback_reason.unwrap().contains("helm: no endpoints available"));
    let why = operator.deployment_why(&id).await.unwrap();
    assert!(why.waits_for.is_none() && why.ended.is_some(), "{why:?}");
}

#[tokio::test]
async fn a_deployment_is_paused_resumed_and_cancelled() {
    let world = world().await;
    world.waters.lose("dev");
    world.server.drive();
    let operator = world.server.client(Role::Operator);
    let id = operator.start_deployment(&wanted(&["dev"])).await.unwrap().deployment_id.to_string();
    let away =
        reaches(&world, &id, |detail| detail.cluster_statuses[0].status == ClusterRolloutStatus::Quarantined)
            .await;
    assert!(away.why.waits_for.unwrap().unblock.is_some());
    let pause = PauseRequest { reason: Some("lunch".to_owned()) };
    operator.pause_deployment(&id, &pause).await.unwrap();
    let held = reaches(&world, &id, |detail| detail.deployment.paused.is_some()).await;
    assert!(held.deployment.paused.unwrap().reason.contains("lunch"));
    operator.resume_deployment(&id).await.unwrap();
    reaches(&world, &id, |detail| detail.deployment.paused.is_none()).await;
    let reply = operator.cancel_deployment(&id, &CancelRequest::default()).await.unwrap();
    assert_eq!((reply.status, reply.finishing.len()), (DeploymentStatus::Cancelled, 0));
    let end = ends(&world, &id).await;
    assert_eq!(end.deployment.status, DeploymentStatus::Cancelled);
    assert!(end.error_message.unwrap().contains("operator"));
}

#[tokio::test]
async fn the_role_operator_rolls_back_where_a_setting_says_so() {
    let nothing = "00000000-0000-4000-8000-000000000000";
    let back = RollbackRequest { reason: "we changed our mind".to_owned(), ..RollbackRequest::default() };
    for (operators_roll_back, status) in [(false, 403), (true, 404)] {
        let rollouts = RolloutSettings { operators_roll_back, ..RolloutSettings::default() };
        let server = server_with(Settings { rollouts, ..Settings::default() }).await;
        let asked = server.client(Role::Operator).roll_back(nothing, &back).await;
        assert_eq!(refused(asked.unwrap_err()).0, status);
        let asked = server.client(Role::Viewer).roll_back(nothing, &back).await;
        assert_eq!(refused(asked.unwrap_err()).0, 403);
    }
}
