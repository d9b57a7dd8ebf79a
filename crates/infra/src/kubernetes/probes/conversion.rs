//! Conversion of objects: reading one at a version it is not stored in takes the conversion webhook.
//!
//! Lists do not tell: the API server remembers them converted, for as long as nothing changes. A single
//! object is read from where it is stored.

use serde::Deserialize;
use serde::de::IgnoredAny;
use slipway_domain::health::{ConversionSeen, WebhookAnswer};

use super::call::{Call, Fault};
use super::definition::Definition;
use super::handshake;

#[derive(Deserialize)]
struct List {
    // A list of names and labels alone says null where it has none.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: Option<String>,
}

/// Reads one object of each CRD at each version that it is not stored in.
pub(super) async fn look(call: &Call, definitions: &[Definition]) -> Vec<ConversionSeen> {
    let reads = definitions
        .iter()
        .filter(|definition| definition.converts && !definition.others.is_empty())
        .map(|definition| of(call, definition));
    futures::future::join_all(reads).await.into_iter().flatten().collect()
}

async fn of(call: &Call, definition: &Definition) -> Vec<ConversionSeen> {
    let list = call.metadata::<List>(&format!("{}?limit=1", definition.path(&definition.storage))).await;
    let first = list.map(|list| list.items.unwrap_or_default().into_iter().next());
    let broken = match &definition.converter {
        Some(by) => handshake::behind(call, &by.namespace, &by.name, by.port, &by.authorities).await.broken,
        None => None,
    };
    let reads = definition.others.iter().map(|version| {
        let (first, broken) = (&first, &broken);
        async move {
            let answer = match first {
                Ok(Some(Item { metadata: Metadata { name, namespace } })) => {
                    let path = definition.path_of(version, namespace.as_deref(), name);
                    answer(call.get::<IgnoredAny>(&path).await)
                }
                Ok(None) => WebhookAnswer::NotAsked { why: "there is no object to convert".to_owned() },
                Err(fault) => WebhookAnswer::NotAsked { why: fault.to_string() },
            };
            let answer = match (answer, broken) {
                // It answered over a connection that nobody could make any more.
                (WebhookAnswer::Answered, Some(message)) => {
                    WebhookAnswer::Failed { message: message.clone() }
                }
                (answer, _) => answer,
            };
            ConversionSeen { crd: definition.name.clone(), version: version.clone(), answer }
        }
    });
    futures::future::join_all(reads).await
}

fn answer(read: Result<IgnoredAny, Fault>) -> WebhookAnswer {
    match read {
        Ok(_) => WebhookAnswer::Answered,
        // `conversion webhook for sea.dev/v1, Kind=Boat failed: Post "https://…": connection refused`
        Err(Fault::Refused { message, .. }) if message.contains("conversion webhook for") => {
            let cause = message.split_once(" failed: ").map_or(message.as_str(), |(_, cause)| cause);
            WebhookAnswer::Failed { message: cause.to_owned() }
        }
        Err(fault) => WebhookAnswer::NotAsked { why: fault.to_string() },
    }
}
