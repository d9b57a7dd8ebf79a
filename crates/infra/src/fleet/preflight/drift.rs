//! Fields that somebody else wrote and that a release sets: they are told before they are set back.
//!
//! What an autoscaler or an injector wrote is not among them: it is in the manifest as it is, or not at all.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use kube::core::Status;
use serde_json::Value;
use slipway_domain::preflight::{CheckKind, Finding, Level};

use super::super::api::{Api, Apply, Trouble};
use super::super::definition::{HELM, MANAGER};
use super::items::{Item, Tried};

/// So many objects are asked for at once.
const AT_ONCE: usize = 8;

/// What was found.
pub(super) async fn findings(api: &Api, items: &[Item]) -> Result<Vec<Finding>, Trouble> {
    let asks: Vec<_> =
        items.iter().filter(|item| is_doubtful(item)).map(|item| conflicts(api, item)).collect();
    let answers: Vec<Result<_, Trouble>> = futures::stream::iter(asks).buffered(AT_ONCE).collect().await;
    let mut changed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for answer in answers {
        for (manager, field) in answer? {
            changed.entry(manager).or_default().insert(field);
        }
    }
    let finding = |(manager, fields): (String, BTreeSet<String>)| {
        let text = format!(
            "{manager} wrote fields that the release sets back to what the chart says; where they are to stay, give \
             them as values"
        );
        Finding::new(CheckKind::Difference, Level::Warning, text).about(fields)
    };
    Ok(changed.into_iter().map(finding).collect())
}

/// Whether somebody else wrote anything of an object but its status.
fn is_doubtful(item: &Item) -> bool {
    let entries = item.live.as_ref().and_then(|live| live.pointer("/metadata/managedFields")?.as_array());
    let is_others = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        !is_ours(text("manager")) && text("subresource") != "status"
    };
    matches!(item.tried, Tried::Taken(_)) && entries.into_iter().flatten().any(is_others)
}

/// Whether a manager of fields is a helm, by hand or through us.
fn is_ours(manager: &str) -> bool {
    manager == HELM || manager == MANAGER || manager.starts_with("Go-http-client")
}

/// The fields of others that a manifest would change, each with who wrote it.
async fn conflicts(api: &Api, item: &Item) -> Result<Vec<(String, String)>, Trouble> {
    let Some(kind) = &item.kind else { return Ok(Vec::new()) };
    let mut body = item.manifest.clone();
    if let Some(namespace) = &item.it.namespace {
        body["metadata"]["namespace"] = namespace.as_str().into();
    }
    let how = Apply { manager: HELM, force: false, dry_run: true };
    match api.apply(&kind.path(item.it.namespace.as_deref(), &item.it.name), &body, how).await {
        Err(Trouble::Refused(status)) if status.code == 409 => {
            let object = item.it.to_string();
            Ok(told(&status).map(|(manager, field)| (manager, format!("{object} {field}"))).collect())
        }
        Ok(_) | Err(Trouble::Refused(_)) => Ok(Vec::new()),
        Err(trouble) => Err(trouble),
    }
}

/// Managers and fields of a conflict; what helm itself wrote in another way is none.
fn told(status: &Status) -> impl Iterator<Item = (String, String)> + '_ {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.filter(|cause| cause.reason == "FieldManagerConflict").filter_map(|cause| {
        let (_, rest) = cause.message.split_once("conflict with \"")?;
        let (manager, _) = rest.split_once('"')?;
        let field = cause.field.trim_start_matches('.').to_owned();
        (!is_ours(manager)).then(|| (manager.to_owned(), field))
    })
}
