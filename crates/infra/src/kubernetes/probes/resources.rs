//! Custom resources, page by page. Of each only what tells its health is kept.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use serde::Deserialize;
use slipway_domain::health::{ConditionSeen, Look, ObjectSeen, Tally};
use slipway_orchestrator::ports::probes::{Freshness, Manner, Target};

use super::call::{Call, Fault, quoted};
use super::definition::Definition;
use super::{Definitions, missing};

/// So many objects come with the first page.
const PAGE: usize = 500;

/// What a further page may be large: few pages cost the API server less than many, and take more room here.
const PAGE_BYTES: usize = 2 << 20;

/// The fewest and the most objects of a further page.
const PAGES: RangeInclusive<usize> = 100..=2_500;

/// So many kinds are read at once.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
struct List {
    metadata: ListMetadata,
    items: Vec<Object>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    name: String,
    namespace: Option<String>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    generation: Option<i64>,
    #[serde(default)]
    managed_fields: Vec<ManagedFields>,
}

#[derive(Deserialize)]
struct ManagedFields {
    time: Option<Timestamp>,
    #[serde(default)]
    subresource: String,
}

// A status is written by controllers, each in its own way: what does not fit is passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default, deserialize_with = "lenient")]
    observed_generation: Option<i64>,
    #[serde(default, deserialize_with = "lenient")]
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    status: String,
    reason: Option<String>,
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    last_transition_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    observed_generation: Option<i64>,
}

fn lenient<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// Counts the objects of all kinds.
pub(super) async fn look(
    call: &Call,
    definitions: Definitions,
    target: &Target,
    manner: Manner,
) -> Look<Vec<Tally>> {
    let absent = target.crds.iter().find(|name| !definitions.iter().any(|known| known.name == **name));
    if definitions.is_empty()
        && let Some(name) = absent
    {
        return Look::Unseen(missing(name));
    }
    let stale_after = target.rules.limits.stale_after;
    let counts: Vec<_> = definitions
        .iter()
        .map(|definition| {
            let condition = target.rules.condition(&definition.name);
            async move { count(call, definition, condition, manner, stale_after).await }
        })
        .collect();
    let counts: Vec<Result<Tally, Fault>> = futures::stream::iter(counts).buffered(AT_ONCE).collect().await;
    match counts.into_iter().collect() {
        Ok(tallies) => Look::Seen(tallies),
        Err(fault) => Look::Unseen(fault.to_string()),
    }
}

async fn count(
    call: &Call,
    definition: &Definition,
    condition: &str,
    manner: Manner,
    stale_after: Duration,
) -> Result<Tally, Fault> {
    match pages(call, definition, condition, manner, stale_after).await {
        // The list went on for longer than the API server remembers it: once more from the beginning.
        Err(fault) if fault.code() == Some(410) => {
            pages(call, definition, condition, manner, stale_after).await
        }
        other => other,
    }
}

async fn pages(
    call: &Call,
    definition: &Definition,
    condition: &str,
    manner: Manner,
    stale_after: Duration,
) -> Result<Tally, Fault> {
    let mut tally = Tally::new(&definition.name, &definition.kind, manner.at, stale_after);
    let mut next = String::new();
    let mut limit = PAGE;
    loop {
        let mut path = format!("{}?limit={limit}", definition.path(&definition.storage));
        if !next.is_empty() {
            let _ = write!(path, "&continue={}", quoted(&next));
        } else if manner.freshness == Freshness::Remembered {
            path.push_str("&resourceVersion=0");
        }
        let (list, bytes) = call.get_much::<List>(&path).await?;
        limit = further(list.items.len(), bytes);
        for object in list.items {
            tally.add(&seen(object, condition, manner.at));
        }
        if list.metadata.next.is_empty() {
            return Ok(tally);
        }
        next = list.metadata.next;
    }
}

/// How many objects the next page may have, by the size of those of the last one.
fn further(objects: usize, bytes: usize) -> usize {
    let each = (bytes / objects.max(1)).max(1);
    (PAGE_BYTES / each).clamp(*PAGES.start(), *PAGES.end())
}

fn seen(object: Object, condition: &str, now: Timestamp) -> ObjectSeen {
    let written = |status: bool| {
        let entries = object.metadata.managed_fields.iter();
        entries.filter(|entry| (entry.subresource == "status") == status).filter_map(|entry| entry.time).max()
    };
    let (changed, answered) = (written(false), written(true));
    let has_status = object.status.is_some();
    let (observed, conditions) = object
        .status
        .map(|status| (status.observed_generation, status.conditions.unwrap_or_default()))
        .unwrap_or_default();
    let condition = conditions.into_iter().find(|found| found.kind == condition).map(|found| ConditionSeen {
        status: found.status,
        reason: found.reason,
        message: found.message.filter(|message| !message.is_empty()),
        since: found.last_transition_time,
        observed: found.observed_generation,
    });
    ObjectSeen {
        uid: object.metadata.uid,
        namespace: object.metadata.namespace,
        name: object.metadata.name,
        created: object.metadata.creation_timestamp.unwrap_or(now),
        deleted: object.metadata.deletion_timestamp,
        generation: object.metadata.generation,
        observed,
        changed,
        answered,
        has_status,
        condition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_pages_are_as_large_as_there_is_room() {
        assert_eq!(further(500, 500 * 900), 2330);
        assert_eq!(further(500, 500 * 100), 2500, "no more than an API server likes");
        assert_eq!(further(500, 500 * 500_000), 100, "objects of half a megabyte");
        assert_eq!(further(0, 0), 2500);
    }
}
