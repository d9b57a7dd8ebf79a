//! What may happen to an Application, made up by proptest from a seed.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use slipway_runtime::apply::APPLIED;

/// The one Application of a sequence.
pub(crate) const APP: &str = "web";

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Its owner wants something else, or wants it in the first place.
    Want(Value),
    /// Somebody changes a child, or the Application's own metadata, with an update or an apply.
    Meddle { target: Target, change: Value, apply: bool },
    /// Somebody removes a child, waiting for what hangs on it or not.
    Remove { target: Target, foreground: bool },
    /// The Application goes, and another of its name comes at once.
    Replace(Value),
    /// The operator ends and another begins.
    Restart,
    /// Everybody waits until it is as it should be.
    Settle,
}

/// What is meddled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Application,
    Deployment,
    Service,
    ConfigMap,
    Budget,
}

/// The actions of a seed; the first creates the Application.
pub(crate) fn sequence(seed: u64) -> Vec<Action> {
    let mut bytes = [0_u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = (spec(), proptest::collection::vec(action(), 3..8));
    let (first, rest) = strategy.new_tree(&mut runner).unwrap().current();
    [Action::Want(first)].into_iter().chain(rest).collect()
}

fn action() -> impl Strategy<Value = Action> {
    let remove =
        (child(), any::<bool>()).prop_map(|(target, foreground)| Action::Remove { target, foreground });
    let meddle = (meddling(), any::<bool>()).prop_map(|((target, change), apply)| Action::Meddle {
        target,
        change,
        apply,
    });
    prop_oneof![
        4 => spec().prop_map(Action::Want),
        5 => meddle,
        2 => remove,
        1 => spec().prop_map(Action::Replace),
        1 => Just(Action::Restart),
        3 => Just(Action::Settle),
    ]
}

fn child() -> impl Strategy<Value = Target> {
    prop_oneof![
        Just(Target::Deployment),
        Just(Target::Service),
        Just(Target::ConfigMap),
        Just(Target::Budget)
    ]
}

/// A spec that the schema takes, with amounts in whatever words people use.
fn spec() -> impl Strategy<Value = Value> {
    let strategy = prop_oneof![Just(Value::Null), Just(json!("Recreate")), Just(json!("RollingUpdate"))];
    let amount = prop_oneof![Just("0.25"), Just("250m"), Just("1e-1"), Just("1")];
    let memory = prop_oneof![Just("1024Mi"), Just("1Gi"), Just("128974848"), Just("123M")];
    let resources = proptest::option::of((amount, proptest::option::of(memory)).prop_map(|(cpu, memory)| {
        let limits = memory.map_or(Value::Null, |memory| json!({"memory": memory}));
        json!({"requests": {"cpu": cpu}, "limits": limits})
    }));
    let port = proptest::option::of(prop_oneof![Just("9000"), Just("80")]);
    let config = (port, proptest::collection::btree_map("[A-C]", "[a-c]{0,2}", 0..3));
    (0..3_u32, 1..4_u32, strategy, config, resources).prop_map(
        |(replicas, image, strategy, (port, config), resources)| {
            let mut spec = json!({"replicas": replicas, "image": format!("nginx:{image}"), "config": config});
            if let Some(port) = port {
                spec["config"]["PORT"] = json!(port);
            }
            if !strategy.is_null() {
                spec["strategy"] = strategy;
            }
            if let Some(resources) = resources {
                spec["resources"] = without_nulls(resources);
            }
            spec
        },
    )
}

fn without_nulls(mut value: Value) -> Value {
    value.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    value
}

fn meddling() -> impl Strategy<Value = (Target, Value)> {
    use Target::{Application, Budget, ConfigMap, Deployment, Service};
    let container = |change: Value| json!({"spec": {"template": {"spec": {"containers": [change]}}}});
    let label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}});
    let no_label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}});
    let no_note = json!({"metadata": {"annotations": {APPLIED: null}}});
    let wrong_note = json!({"metadata": {"annotations": {APPLIED: "applied:0000000000000000"}}});
    let other = json!({"metadata": {"labels": {"of": "somebody"}, "annotations": {"of": "somebody"}}});
    let changes = vec![
        (Application, other.clone()),
        (Application, json!({"metadata": {"finalizers": null}})),
        (Deployment, json!({"spec": {"replicas": 4}})),
        (Deployment, json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}})),
        (Deployment, json!({"spec": {"paused": false, "minReadySeconds": 0}})),
        (Deployment, container(json!({"name": "application", "image": "somebody:1"}))),
        (Deployment, no_note.clone()),
        (Deployment, wrong_note),
        (Deployment, other),
        (Service, json!({"spec": {"selector": {"app.kubernetes.io/name": "somebody"}}})),
        (Service, json!({"spec": {"ports": [{"name": "other", "port": 81, "protocol": "TCP"}]}})),
        (Service, label),
        (Service, no_note.clone()),
        (ConfigMap, json!({"data": {"A": "somebody"}})),
        (ConfigMap, json!({"data": null})),
        (ConfigMap, no_label),
        (ConfigMap, no_note),
        (Budget, json!({"spec": {"maxUnavailable": 0}})),
        (Budget, json!({"spec": {"unhealthyPodEvictionPolicy": null}})),
    ];
    proptest::sample::select(changes)
}
