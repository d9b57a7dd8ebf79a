//! Every rule of the catalogue whose example is proven by an object: the proof holds.

use std::sync::Arc;

use serde_json::{Value, json};
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::rules::{self, Example};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::server::{Server, in_group};
use crate::trial::{Trial, confirms};

/// Definitions that are in force at the same time.
const AT_ONCE: usize = 8;

fn yaml(text: &str) -> Value {
    slipway_manifests::read(text)
        .unwrap()
        .into_iter()
        .next()
        .map(|document| document.value)
        .unwrap_or_default()
}

fn base() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.test"},
        "spec": {
            "group": "example.test",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "listKind": "WidgetList", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}

fn with_schema(field: &str, schema: &str) -> Value {
    let mut schema = yaml(schema);
    schema["type"] = json!("object");
    let mut crd = base();
    let version = &mut crd["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"] = json!({ field: schema });
    version["subresources"] = json!({"status": {}});
    crd
}

fn patched(patch: &str) -> Value {
    fn merge(base: &mut Value, patch: Value) {
        match (base, patch) {
            (Value::Object(base), Value::Object(patch)) => {
                for (key, value) in patch {
                    merge(base.entry(key).or_insert(Value::Null), value);
                }
            }
            (base, patch) => *base = patch,
        }
    }
    let mut crd = base();
    merge(&mut crd, yaml(patch));
    crd
}

/// Breaking schemas that no object can show: the keyword is ignored, or the API server refuses the schema.
const UNSHOWN: [&str; 3] = ["misplaced-size-floor", "required-with-default", "unique-items-added"];

/// What became of the witnesses of one rule.
enum Proof {
    Held(usize),
    Nothing(String),
    Wrong(String),
}

async fn prove(server: &Server, old: &Value, new: &Value) -> Proof {
    let (Ok(before), Ok(after)) = (Crd::from_value(old.clone()), Crd::from_value(new.clone())) else {
        return Proof::Wrong("the example is no definition".into());
    };
    let report = compare(&before, &after, &Options::default());
    let witnesses: Vec<_> = report.findings.iter().filter_map(|finding| finding.witness.as_ref()).collect();
    if witnesses.is_empty() {
        return Proof::Nothing("no witness".into());
    }
    if let Err(reason) = server.define(old, "before").await {
        return Proof::Nothing(format!("the server does not take the old definition: {reason}"));
    }
    let mut trials = Vec::new();
    for (index, witness) in witnesses.iter().enumerate() {
        let trial = Trial::of_witness(witness);
        let Some(prepared) = trial.prepare(server, old, &format!("stored-{index}")).await else {
            return Proof::Wrong(format!("{} cannot be stored", trial.object));
        };
        let was = trial.write(server, old, &prepared, false).await;
        trials.push((*witness, trial, prepared, was));
    }
    if let Err(reason) = server.define(new, "after").await {
        return Proof::Nothing(format!("the server does not take the new definition: {reason}"));
    }
    for (witness, trial, prepared, was) in &trials {
        let is = trial.write(server, new, prepared, true).await;
        if let Err(why) = confirms(witness, trial, was, &is) {
            return Proof::Wrong(why);
        }
    }
    Proof::Held(trials.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_confirms_every_witness_of_the_catalogue() {
    let server = Arc::new(Server::start().await);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for rule in rules::all() {
        let (old, new) = match rule.example {
            Example::Spec { old, new } => (with_schema("spec", old), with_schema("spec", new)),
            Example::Status { old, new } => (with_schema("status", old), with_schema("status", new)),
            Example::Definition { old, new } => (patched(old), patched(new)),
            _ => continue,
        };
        let group = format!("{}.example.test", rule.id);
        let (old, new) = (in_group(&old, &group), in_group(&new, &group));
        let (server, places) = (server.clone(), places.clone());
        tasks.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let proof = prove(&server, &old, &new).await;
            server.forget(&old).await;
            (rule, proof)
        });
    }
    let (mut rules, mut proven, mut silent, mut wrong) = (0, 0, Vec::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            (_, Proof::Held(count)) => {
                rules += 1;
                proven += count;
            }
            (rule, Proof::Nothing(why)) => {
                let about_schema = !matches!(rule.example, Example::Definition { .. });
                if about_schema && rule.severity == Severity::Breaking && !UNSHOWN.contains(&rule.id) {
                    wrong.push(format!("{}: {why}", rule.id));
                }
                silent.push(format!("{} ({}): {why}", rule.id, rule.severity));
            }
            (rule, Proof::Wrong(why)) => wrong.push(format!("{}: {why}", rule.id)),
        }
    }
    silent.sort();
    println!(
        "{proven} witnesses of {rules} rules confirmed; without: {}\n{}",
        silent.len(),
        silent.join("\n")
    );
    assert!(wrong.is_empty(), "{} rules are not confirmed:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rules >= 25, "only {rules} rules have a witness");
}
