//! What brings a turn.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_runtime::cache::ObjectKey;
use slipway_runtime::conditions::Condition;
use slipway_runtime::controller::{ControllerSpec, Lister, Outcome, Predicate};
use slipway_testkit::until;

use crate::scripted::{Scripted, Turns};
use crate::workshop::{PATIENCE, Widget, Workshop, scrape};

#[tokio::test]
async fn an_object_that_asks_for_it_is_looked_at_again_and_others_are_not() {
    let workshop = Workshop::new("requeue").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, turn| {
        let again = widget.spec.size == 1 && turn < 6;
        let outcome = Outcome::done();
        Ok(if again { outcome.again_after(Duration::from_millis(20)) } else { outcome })
    });
    let operator = workshop.start(ControllerSpec::new(script)).await;
    workshop.put("still", json!({"size": 0})).await;
    turns.reach("still", 1).await;
    workshop.put("restless", json!({"size": 1})).await;
    turns.reach("restless", 6).await;
    assert_eq!(turns.of("still"), 1);
    let requeued = || scrape(&operator).value("controller_reconcile_total", &[("result", "requeue")]);
    assert_eq!(requeued(), Some(5.0));
}

#[tokio::test]
async fn what_a_mapping_names_is_asked_about_and_nothing_else() {
    let workshop = Workshop::new("mapping").await;
    let turns = Turns::default();
    let by_colour = |map: &ConfigMap, widgets: &Lister<Widget>| {
        let painted = widgets.all().into_iter().filter(|widget| widget.spec.colour == map.name_any());
        painted.map(|widget| ObjectKey::of(&widget)).collect()
    };
    let controller = ControllerSpec::new(Scripted::content(&turns)).watches::<ConfigMap>(by_colour);
    let _operator = workshop.start(controller).await;
    for (name, colour) in [("a", "red"), ("b", "red"), ("c", "blue")] {
        workshop.put(name, json!({"size": 1, "colour": colour})).await;
        turns.reach(name, 1).await;
    }
    let paints = workshop.of::<ConfigMap>();
    let paint = |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    paints.create(&PostParams::default(), &paint("red")).await.unwrap();
    turns.reach("a", 2).await;
    turns.reach("b", 2).await;
    let shade = Patch::Merge(json!({"data": {"shade": "dark"}}));
    paints.patch("red", &PatchParams::default(), &shade).await.unwrap();
    turns.reach("a", 3).await;
    turns.reach("b", 3).await;
    paints.delete("red", &kube::api::DeleteParams::default()).await.unwrap();
    turns.reach("a", 4).await;
    assert_eq!(turns.of("c"), 1);
}

#[tokio::test]
async fn only_the_news_that_the_predicate_wants_bring_a_turn() {
    let workshop = Workshop::new("predicate").await;
    let turns = Turns::default();
    let controller = ControllerSpec::new(Scripted::content(&turns)).when(Predicate::labels());
    let _operator = workshop.start(controller).await;
    workshop.put("a", json!({"size": 1})).await;
    turns.reach("a", 1).await;
    workshop.change("a", json!({"spec": {"size": 2}})).await;
    workshop.change("a", json!({"metadata": {"annotations": {"x": "y"}}})).await;
    workshop.change_status("a", json!({"conditions": []})).await;
    workshop.change("a", json!({"metadata": {"labels": {"x": "y"}}})).await;
    turns.reach("a", 2).await;
    // Whatever came before the label was heard before it.
    assert_eq!(turns.of("a"), 2);
}

#[tokio::test]
async fn only_objects_of_its_namespaces_with_its_labels_are_looked_at() {
    let workshop = Workshop::new("scope").await;
    let elsewhere = Workshop::new("scope-elsewhere").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, _| {
        let size = format!("of size {}", widget.spec.size);
        Outcome::done().status(&json!({"conditions": [Condition::holds("Ready", "Made", size)]}))
    });
    let controller = ControllerSpec::new(script)
        .namespaces([workshop.namespace.as_str()])
        .labels("team=a")
        .status_pace(Duration::ZERO);
    let mut settings = workshop.settings();
    settings.watch_namespaces = Vec::new();
    let operator = workshop.runtime(settings).controller(controller).start().await.unwrap();
    let labelled = |name: &str, team: &str| json!({"name": name, "labels": {"team": team}});
    elsewhere.put_kind::<Widget>(labelled("elsewhere", "a"), json!({"size": 1})).await;
    workshop.put_kind::<Widget>(labelled("other", "b"), json!({"size": 1})).await;
    workshop.put_kind::<Widget>(labelled("own", "a"), json!({"size": 1})).await;
    turns.reach("own", 1).await;
    assert_eq!(turns.all().into_keys().collect::<Vec<_>>(), ["own"]);

    // One that is handed over is looked at, one that is given away is not, until it comes back.
    workshop.change("other", json!({"metadata": {"labels": {"team": "a"}}})).await;
    turns.reach("other", 1).await;
    workshop.change("own", json!({"metadata": {"labels": {"team": "b"}}})).await;
    workshop.change("own", json!({"spec": {"size": 2}})).await;
    workshop.change("other", json!({"spec": {"size": 2}})).await;
    turns.reach("other", 2).await;
    assert_eq!(turns.of("own"), 1);
    workshop.change("own", json!({"metadata": {"labels": {"team": "a"}}})).await;
    turns.reach("own", 2).await;
    let saying = async |message: String| {
        let said = async || (workshop.ready("own").await?["message"] == message.as_str()).then_some(());
        until("the status", PATIENCE, said).await.unwrap();
    };
    saying("of size 2".to_owned()).await;
    let conflicts = || scrape(&operator).value("rest_client_requests_total", &[("code", "409")]);
    let before = conflicts();
    for size in 3..6 {
        workshop.change("own", json!({"spec": {"size": size}})).await;
        saying(format!("of size {size}")).await;
    }
    assert_eq!(conflicts(), before, "its own writes are known to it again");
}
