//! An operator of boats, as far as tests need one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use slipway_domain::health::{
    Baseline, HealthRules, Look, Memory, Observation, OperatorHealth, Weight, judge,
};
use slipway_infra::kubernetes::probes::{Subject, look_at};
use slipway_orchestrator::ports::probes::{Freshness, Manner, Target};
use slipway_testkit::until;

pub(crate) const MINUTE: Duration = Duration::from_mins(1);
pub(crate) const CRD: &str = "boats.sea.dev";

/// The CRD, with a conversion if one is given.
pub(crate) fn crd(conversion: Option<Value>) -> CustomResourceDefinition {
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    let conversion = conversion.unwrap_or_else(|| json!({"strategy": "None"}));
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
            "versions": [version("v1", true), version("v1beta1", false)],
            "conversion": conversion,
        }
    }))
    .unwrap()
}

pub(crate) async fn install_crd(client: &Client, conversion: Option<Value>) {
    Api::all(client.clone()).create(&PostParams::default(), &crd(conversion)).await.unwrap();
    until("boats to be served", MINUTE, async || {
        boats(client).list(&kube::api::ListParams::default()).await.ok()
    })
    .await
    .unwrap();
}

pub(crate) fn boats(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("sea.dev", "v1", "Boat");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&kind))
}

pub(crate) fn boat(name: &str) -> DynamicObject {
    serde_json::from_value(json!({"apiVersion": "sea.dev/v1", "kind": "Boat",
        "metadata": {"name": name}, "spec": {"sails": 1}}))
    .unwrap()
}

/// Makes a boat with a status.
pub(crate) async fn launch(client: &Client, name: &str, status: &Value) {
    let api = boats(client);
    api.create(&PostParams::default(), &boat(name)).await.unwrap();
    let patch = json!({"status": status});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

pub(crate) fn status(observed: i64, ready: &str) -> Value {
    json!({"observedGeneration": observed, "conditions": [{"type": "Ready", "status": ready, "reason": "Told",
        "message": "as told", "lastTransitionTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}]})
}

pub(crate) fn target(crds: &[&str]) -> Target {
    Target {
        cluster: uuid::Uuid::new_v4().into(),
        cluster_name: "harbour".to_owned(),
        operator_name: "boats".to_owned(),
        releases: Vec::new(),
        crds: crds.iter().map(ToString::to_string).collect(),
        rules: HealthRules::default(),
    }
}

/// Looks as if so much time had passed: ages are counted from there.
pub(crate) fn after(minutes: i64) -> Manner {
    Manner {
        at: Timestamp::now() + SignedDuration::from_mins(minutes),
        freshness: Freshness::Now,
        within: Duration::from_secs(30),
        smoke: false,
    }
}

pub(crate) async fn look(client: &Client, subject: &Subject, target: &Target, manner: Manner) -> Observation {
    look_at(client.clone(), subject, target, manner).await
}

/// What is said of it at a first look.
pub(crate) fn judged(seen: &Observation, target: &Target) -> OperatorHealth {
    judged_against(seen, target, None)
}

pub(crate) fn judged_against(
    seen: &Observation,
    target: &Target,
    baseline: Option<&Baseline>,
) -> OperatorHealth {
    let workloads = match &seen.workloads {
        Look::Seen(workloads) => workloads.as_slice(),
        Look::Unseen(_) => &[],
    };
    let memory = Memory::default().after(workloads, seen.at, &target.rules.limits);
    judge(seen, &memory, baseline, &target.rules, Duration::ZERO)
}

/// The reasons that weigh something.
pub(crate) fn reasons(health: &OperatorHealth) -> Vec<&str> {
    let heavy = health.reasons.iter().filter(|reason| reason.weight > Weight::Note);
    heavy.map(|reason| reason.text.as_str()).collect()
}

pub(crate) fn name(object: &DynamicObject) -> String {
    object.name_any()
}
