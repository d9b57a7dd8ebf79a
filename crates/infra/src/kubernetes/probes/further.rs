//! The further rules of a profile: objects that have to be in a condition.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use slipway_domain::health::{FurtherRule, Look, RuleSeen};

use super::call::{Call, Fault};

/// So many objects of a kind are looked at.
const MOST: u32 = 500;

#[derive(Deserialize)]
struct Kinds {
    resources: Vec<Served>,
}

#[derive(Deserialize)]
struct Served {
    name: String,
    kind: String,
    namespaced: bool,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Value>,
}

/// Looks whether the rules hold.
pub(super) async fn look(call: &Call, rules: &[FurtherRule]) -> Vec<RuleSeen> {
    let looks = rules.iter().map(|rule| async move {
        let broken = match broken(call, rule).await {
            Ok(broken) => Look::Seen(broken),
            Err(fault) => Look::Unseen(fault.to_string()),
        };
        RuleSeen { name: rule.name.clone(), weight: rule.weight, broken }
    });
    futures::future::join_all(looks).await
}

async fn broken(call: &Call, rule: &FurtherRule) -> Result<Vec<String>, Fault> {
    let (base, kind) = kind(call, &rule.api_version, &rule.kind).await?;
    let mut path = base;
    if let Some(namespace) = rule.namespace.as_ref().filter(|_| kind.namespaced) {
        let _ = write!(path, "/namespaces/{namespace}");
    }
    let _ = write!(path, "/{}?limit={MOST}", kind.name);
    if let Some(object) = &rule.object {
        let _ = write!(path, "&fieldSelector=metadata.name%3D{object}");
    }
    let objects = call.get::<List>(&path).await?.items;
    if let Some(object) = rule.object.as_ref().filter(|_| objects.is_empty()) {
        return Ok(vec![format!("there is no {} {object}", rule.kind)]);
    }
    Ok(objects.iter().filter_map(|object| trouble(object, rule)).collect())
}

/// Where the objects of a kind are.
pub(super) async fn place(
    call: &Call,
    api_version: &str,
    kind_name: &str,
) -> Result<(String, String, bool), Fault> {
    let (base, kind) = kind(call, api_version, kind_name).await?;
    Ok((base, kind.name, kind.namespaced))
}

async fn kind(call: &Call, api_version: &str, kind: &str) -> Result<(String, Served), Fault> {
    let base = if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    };
    let kinds = call.get::<Kinds>(&base).await?.resources.into_iter();
    let found = kinds.filter(|known| !known.name.contains('/')).find(|known| known.kind == kind);
    let found =
        found.ok_or_else(|| Fault::Strange(format!("the cluster knows no kind {kind} in {api_version}")))?;
    Ok((base, found))
}

fn trouble(object: &Value, rule: &FurtherRule) -> Option<String> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let found = condition(object, &rule.condition);
    let status = found.and_then(|found| found.get("status")).and_then(Value::as_str);
    (status != Some("True"))
        .then(|| format!("{} {name}: {} is {}", rule.kind, rule.condition, status.unwrap_or("not there")))
}

/// A condition of an object.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
}
