//! What is written of children, and what is not.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_runtime::apply::{APPLIED, Children};
use slipway_runtime::controller::{Context, ControllerSpec, Outcome};
use slipway_runtime::error::Error;
use slipway_testkit::until;

use crate::scripted::{Scripted, Turns};
use crate::workshop::{PATIENCE, Widget, Workshop, scrape, writes};

/// Children whose values the API server keeps in its own words: amounts, times, and what it never shows.
async fn peculiar(widget: Arc<Widget>, context: Context<Widget>) -> Result<Outcome, Error> {
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": widget.name_any()},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{
                "name": "main", "image": "main:1", "env": [{"name": "EMPTY", "value": ""}],
                "resources": {"requests": {"cpu": "0.25"}, "limits": {"memory": "1024Mi"}},
            }]},
        }},
    }))
    .unwrap();
    let lease: Value = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": widget.name_any()},
        "spec": {"renewTime": "2026-01-01T00:00:00.5Z"},
    });
    let lease: Lease = serde_json::from_value(lease).unwrap();
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": widget.name_any()}, "stringData": {"key": "value"},
    }))
    .unwrap();
    let mut children = Children::new();
    children.add(&deployment)?.add(&lease)?.add(&secret)?;
    context.apply(children).await?;
    Ok(Outcome::done())
}

#[tokio::test]
async fn what_the_api_server_keeps_in_its_own_words_is_written_once() {
    let workshop = Workshop::new("quirks").await;
    let turns = Turns::default();
    let script = Scripted::acting(&turns, |widget, context, _| Box::pin(peculiar(widget, context)));
    let controller = ControllerSpec::new(script)
        .owns::<Deployment>()
        .owns::<Lease>()
        .owns::<Secret>()
        .resync(Duration::from_millis(50));
    let operator = workshop.start(controller).await;
    workshop.put("a", json!({"size": 1})).await;
    turns.reach("a", 6).await;
    let leases = |verb| {
        scrape(&operator).value("rest_client_requests_total", &[("resource", "leases"), ("verb", verb)])
    };
    assert_eq!((leases("create"), leases("patch")), (Some(1.0), None));
    assert!((writes(&operator) - 2.0).abs() < 0.5, "{} writes for the other two", writes(&operator));

    // A difference that is none of those is still seen.
    let meddle = Patch::Merge(json!({"spec": {"replicas": 3}}));
    workshop.of::<Deployment>().patch("a", &PatchParams::default(), &meddle).await.unwrap();
    until("the number of pods to be put right", PATIENCE, || async {
        let deployment = workshop.of::<Deployment>().get("a").await.unwrap();
        (deployment.spec.replicas == Some(0)).then_some(())
    })
    .await
    .unwrap();
}

/// A `ConfigMap` with as many keys as the Widget is large; none at all for size 0.
async fn keys(widget: Arc<Widget>, context: Context<Widget>) -> Result<Outcome, Error> {
    let mut children = Children::new();
    if widget.spec.size > 0 {
        let data: Value =
            (0..widget.spec.size).map(|key| (format!("key-{key}"), json!("value"))).collect::<Value>();
        let map = json!({"metadata": {"name": widget.name_any()}, "data": data});
        children.add(&serde_json::from_value::<ConfigMap>(map).unwrap())?;
    }
    context.apply(children).await?;
    Ok(Outcome::done())
}

fn keeper(turns: &Turns) -> ControllerSpec<Widget> {
    ControllerSpec::new(Scripted::acting(turns, |widget, context, _| Box::pin(keys(widget, context))))
        .owns::<ConfigMap>()
}

async fn map(workshop: &Workshop, what: &str, like: impl Fn(&ConfigMap) -> bool) -> ConfigMap {
    let maps = workshop.of::<ConfigMap>();
    until(what, PATIENCE, || async { maps.get_opt("a").await.unwrap().filter(&like) }).await.unwrap()
}

fn size(map: &ConfigMap) -> usize {
    map.data.as_ref().map_or(0, std::collections::BTreeMap::len)
}

#[tokio::test]
async fn a_child_that_lost_its_note_still_loses_what_is_wanted_no_more() {
    let workshop = Workshop::new("note").await;
    let turns = Turns::default();
    let _operator = workshop.start(keeper(&turns)).await;
    workshop.put("a", json!({"size": 3})).await;
    let made = map(&workshop, "the child", |map| size(map) == 3).await;
    let strip = Patch::Merge(json!({"metadata": {"annotations": {APPLIED: null}}}));
    workshop.of::<ConfigMap>().patch("a", &PatchParams::default(), &strip).await.unwrap();
    map(&workshop, "the note to come back", |map| map.annotations().contains_key(APPLIED)).await;
    workshop.change("a", json!({"spec": {"size": 1}})).await;
    let left = map(&workshop, "the keys to go", |map| size(map) == 1).await;
    assert_eq!(left.uid(), made.uid());
}

#[tokio::test]
async fn a_child_that_others_write_to_all_the_time_is_removed_all_the_same() {
    let workshop = Workshop::new("prune").await;
    let turns = Turns::default();
    let _operator = workshop.start(keeper(&turns)).await;
    workshop.put("a", json!({"size": 1})).await;
    map(&workshop, "the child", |_| true).await;
    let hammering = tokio::spawn(hammer(workshop.of(), |_| false));
    workshop.change("a", json!({"spec": {"size": 0}})).await;
    tokio::time::timeout(PATIENCE, hammering).await.expect("the child goes").unwrap();
}

/// Writes to the child without a pause until it is gone, or seen like this.
async fn hammer(maps: Api<ConfigMap>, enough: impl Fn(&ConfigMap) -> bool) {
    for beat in 0_u32.. {
        let beat = Patch::Merge(json!({"metadata": {"labels": {"beat": beat.to_string()}}}));
        match maps.patch("a", &PatchParams::default(), &beat).await {
            Ok(map) if enough(&map) => return,
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_child_that_others_write_to_all_the_time_loses_what_is_wanted_no_more() {
    let workshop = Workshop::new("busy").await;
    let turns = Turns::default();
    let _operator = workshop.start(keeper(&turns)).await;
    workshop.put("a", json!({"size": 3})).await;
    map(&workshop, "the child", |_| true).await;
    let hammering = tokio::spawn(hammer(workshop.of(), |map| size(map) == 1));
    workshop.change("a", json!({"spec": {"size": 1}})).await;
    tokio::time::timeout(PATIENCE, hammering).await.expect("the keys go").unwrap();
    let told = workshop.told("a").await;
    assert!(told.is_empty(), "nothing failed: {told:?}");
}

#[tokio::test]
async fn what_a_former_object_of_the_name_left_is_waited_for_and_replaced() {
    let workshop = Workshop::new("former").await;
    let turns = Turns::default();
    let left: ConfigMap = serde_json::from_value(json!({"metadata": {
        "name": "a",
        "finalizers": ["example.test/slow"],
        "ownerReferences": [{
            "apiVersion": "example.test/v1", "kind": "Widget", "name": "a", "controller": true,
            "uid": "b6e9d4ad-0000-4000-8000-000000000000",
        }],
    }}))
    .unwrap();
    workshop.of::<ConfigMap>().create(&PostParams::default(), &left).await.unwrap();
    let _operator = workshop.start(keeper(&turns)).await;
    workshop.put("a", json!({"size": 2})).await;
    turns.reach("a", 1).await;
    // The garbage collector would do this in its own time.
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    workshop.of::<ConfigMap>().delete("a", &DeleteParams::default()).await.unwrap();
    workshop.of::<ConfigMap>().patch("a", &PatchParams::default(), &free).await.unwrap();
    map(&workshop, "a child of its own", |map| size(map) == 2).await;
    let told = workshop.told("a").await;
    assert!(told.iter().all(|(reason, _)| reason != "NameTaken"), "{told:?}");
}

/// A Deployment whose one port has the number that the Widget is large.
async fn port(widget: Arc<Widget>, context: Context<Widget>) -> Result<Outcome, Error> {
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": widget.name_any()},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{
                "name": "main", "image": "main:1",
                "ports": [{"name": "http", "containerPort": widget.spec.size, "protocol": "TCP"}],
            }]},
        }},
    }))
    .unwrap();
    let mut children = Children::new();
    children.add(&deployment)?;
    context.apply(children).await?;
    Ok(Outcome::done())
}

#[tokio::test]
async fn a_note_that_somebody_else_wrote_does_not_keep_a_child_from_changing() {
    let workshop = Workshop::new("forged").await;
    let turns = Turns::default();
    let controller = || {
        let script = Scripted::acting(&turns, |widget, context, _| Box::pin(port(widget, context)));
        ControllerSpec::new(script).owns::<Deployment>()
    };
    let operator = workshop.start(controller()).await;
    workshop.put("a", json!({"size": 8080})).await;
    let deployments = workshop.of::<Deployment>();
    until("the child", PATIENCE, || async { deployments.get_opt("a").await.unwrap() }).await.unwrap();
    operator.stop().await;
    // Port 8080 was created under a name that an apply does not take back, and the note denies it.
    let forge = json!({"metadata": {"annotations": {APPLIED: "applied:0000000000000000"}}});
    deployments.patch("a", &PatchParams::default(), &Patch::Merge(forge)).await.unwrap();
    workshop.change("a", json!({"spec": {"size": 9090}})).await;
    let _operator = workshop.start(controller()).await;
    until("the other port", PATIENCE, || async {
        let deployment = serde_json::to_value(deployments.get("a").await.unwrap()).unwrap();
        let ports = &deployment["spec"]["template"]["spec"]["containers"][0]["ports"];
        (ports.as_array()?.len() == 1 && ports[0]["containerPort"] == 9090).then_some(())
    })
    .await
    .unwrap();
}

/// A child whose image and number follow the object, and whose port is there for one colour only.
async fn shop(widget: Arc<Widget>, context: Context<Widget>) -> Result<Outcome, Error> {
    let mut container = json!({"name": "main", "image": format!("main:{}", widget.spec.size)});
    if widget.spec.colour == "open" {
        container["ports"] = json!([{"containerPort": 8080}]);
    }
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": widget.name_any()},
        "spec": {"replicas": widget.spec.size, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]},
        }},
    }))
    .unwrap();
    let mut children = Children::new();
    children.add(&deployment)?;
    context.apply(children).await?;
    Ok(Outcome::done())
}

#[tokio::test]
async fn other_values_cost_one_write_and_a_field_that_goes_is_still_taken_back() {
    let workshop = Workshop::new("values").await;
    let turns = Turns::default();
    let script = Scripted::acting(&turns, |widget, context, _| Box::pin(shop(widget, context)));
    let operator = workshop.start(ControllerSpec::new(script).owns::<Deployment>()).await;
    workshop.put("a", json!({"size": 1, "colour": "open"})).await;
    let deployments = workshop.of::<Deployment>();
    let container = async || {
        let deployment = deployments.get_opt("a").await.unwrap()?;
        Some(serde_json::to_value(&deployment.spec.template.spec?.containers[0]).unwrap())
    };
    until("the child", PATIENCE, container).await.unwrap();
    let asked = |verb, code| {
        let labels = [("resource", "deployments"), ("verb", verb), ("code", code)];
        scrape(&operator).value("rest_client_requests_total", &labels)
    };
    for size in [2, 3] {
        workshop.change("a", json!({"spec": {"size": size}})).await;
        until("the other image", PATIENCE, || async {
            container().await.filter(|container| container["image"] == format!("main:{size}"))
        })
        .await
        .unwrap();
    }
    // A write is seen before its answer is counted.
    let counted = || async { asked("patch", "200").filter(|&patches| patches >= 2.0) };
    let patches = until("the answer to be counted", PATIENCE, counted).await.unwrap();
    assert_eq!((asked("create", "201"), patches), (Some(1.0), 2.0));
    // Kubernetes writes to a Deployment, too; only a change that came too late is read again.
    assert_eq!(asked("get", "200"), asked("patch", "409"));

    // The creation set the port; an apply that only leaves it out would keep it.
    workshop.change("a", json!({"spec": {"colour": "closed"}})).await;
    until("the port to go", PATIENCE, || async {
        container().await.filter(|container| container.get("ports").is_none())
    })
    .await
    .unwrap();
    assert_eq!(deployments.get("a").await.unwrap().spec.replicas, Some(3));
}
