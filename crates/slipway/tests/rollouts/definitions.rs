//! Definitions and what people wrote with them: nothing is lost, whatever version comes or goes.

use kube::api::ListParams;
use slipway_contract::deployments::{
    ClusterRolloutStatus as Cluster, DeploymentDetailReply, DeploymentStatus as Status, RollbackRequest,
    UninstallRequest,
};
use slipway_testkit::charts::Chart;

use crate::fleet::install_in;
use crate::operator::{bare, chart, definition, group};
use crate::scene::{Scene, direct, statuses};

/// A version whose definition takes short texts only.
fn narrow(operator: &str, version: &str) -> Chart {
    let mut definition = definition(operator, 0);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["to"]
        ["maxLength"] = 3.into();
    bare(operator, version).crd("parcels.yaml", &definition.to_string()).build().unwrap()
}

/// A version whose definition is among its templates.
fn templated(operator: &str, version: &str, minor: u32) -> Chart {
    bare(operator, version)
        .template("parcels.yaml", &definition(operator, minor).to_string())
        .build()
        .unwrap()
}

/// A definition that would break what is there is refused before anything is changed, by the names of it.
async fn breaking(scene: &Scene) {
    let operator = "narrow";
    scene.operator(&[chart(operator, "1.0.0").build().unwrap(), narrow(operator, "1.1.0")]).await;
    scene.rolls_out(operator, "1.0.0", &scene.names(), &direct(), Status::Completed).await;
    scene.cluster("c2").parcel(operator, "far-away").await;
    scene.cluster("c2").parcel(operator, "odd").await;
    let end = scene.rolls_out(operator, "1.1.0", &scene.names(), &direct(), Status::Failed).await;
    let reason = end.error_message.as_deref().unwrap();
    assert!(reason.contains("c2") && reason.contains("Parcel default/far-away"), "{reason}");
    assert!(!reason.contains("odd"), "{reason}");
    assert_eq!(statuses(&end)["c1"], Cluster::Pending, "{end:#?}");
    assert!(scene.versions(operator).await.values().all(|version| version == "1.0.0"));
    assert_eq!(scene.cluster("c2").parcels(operator).await.len(), 2);
}

/// A release with its definitions in its templates is taken over, goes up and back, loses the definition from its
/// templates, and is uninstalled: what people wrote is there throughout.
async fn adopted(scene: &Scene) {
    let operator = "adopted";
    let cluster = scene.cluster("c1");
    let versions = [templated(operator, "1.0.0", 0), templated(operator, "1.1.0", 1)];
    install_in(cluster.plane(), &versions[0], operator, operator, &["--set=replicas=1"]).await;
    for name in ["one", "two", "three"] {
        cluster.parcel(operator, name).await;
    }
    let written = cluster.parcels(operator).await;
    assert_eq!(written.len(), 3);
    scene.operator(&versions).await;
    scene.repository.add(&bare(operator, "1.2.0").build().unwrap());
    scene.client().refresh_operator(operator).await.unwrap();
    scene.client().discover("c1").await.unwrap();

    let done = scene.rolls_out(operator, "1.1.0", &["c1"], &direct(), Status::Completed).await;
    assert_eq!(done.cluster_statuses[0].previous_version.as_deref(), Some("1.0.0"));
    assert_eq!(cluster.parcels(operator).await, written, "through the upgrade");
    assert_eq!(cluster.standing(operator).await.version(), "1.1.0");
    let id = done.deployment.deployment_id.to_string();
    let back = RollbackRequest { reason: "to see it".to_owned(), ..RollbackRequest::default() };
    scene.client().roll_back(&id, &back).await.unwrap();
    let is_back = |now: &DeploymentDetailReply| now.deployment.status == Status::RolledBack;
    scene.comes_to(&id, "being back", is_back).await;
    assert_eq!(cluster.parcels(operator).await, written, "through the way back");
    assert_eq!(cluster.standing(operator).await.version(), "1.0.0");
    let replicas = cluster.replicas(operator, operator).await;
    assert_eq!(replicas, 1, "the values of whoever installed it are there still");

    // helm would delete a definition that a version's templates do not hold any more, and every parcel with it.
    scene.rolls_out(operator, "1.2.0", &["c1"], &direct(), Status::Completed).await;
    assert_eq!(cluster.parcels(operator).await, written, "through a version without the definition");
    let reply = scene
        .client()
        .uninstall_operator(operator, "c1", &UninstallRequest { with_crds: false })
        .await
        .unwrap();
    assert!(reply.left.iter().any(|left| left.contains("parcels")), "what is left is told: {reply:?}");
    assert!(cluster.revisions(operator, operator).await.is_empty(), "the release is gone");
    assert_eq!(cluster.parcels(operator).await, written, "through the uninstallation");
    let definitions = cluster.of("apiextensions.k8s.io", "CustomResourceDefinition", None);
    let there = definitions.list(&ListParams::default()).await.unwrap();
    let name = format!("parcels.{}", group(operator));
    assert!(there.iter().any(|it| it.metadata.name.as_deref() == Some(&name)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_wrote_survives_every_version_of_its_definition() {
    let scene = Scene::start(&[("c1", "development"), ("c2", "staging")]).await;
    tokio::join!(breaking(&scene), adopted(&scene));
    scene.close().await;
}
