//! Looking at a cluster: its version, nodes, and what its API server says of itself.

use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{ApiResource, ListParams, NotUsed, Object};
use kube::client::Body;
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize;
use slipway_domain::cluster::{NodeCount, Observation, Unreachable};
use slipway_orchestrator::ports::clusters::Seen;
use tracing::Instrument as _;

use super::failure::unreachable;

/// How long a look may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How many connections to a cluster are kept at most, more or less: as many as are used at once.
const KEPT: usize = 8;

/// The most bytes that are read of a short answer.
const ANSWER: usize = 256 * 1024;

/// How many nodes are asked for at a time.
const PAGE: u32 = 500;

/// How many nodes that are not ready are named.
const NAMED: usize = 3;

/// As much of a node's status as counts; a whole node is hundreds of lines.
#[derive(Debug, Clone, Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    conditions: Vec<NodeCondition>,
}

#[derive(Debug, Clone, Deserialize)]
struct NodeCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

type SlimNode = Object<NotUsed, NodeStatus>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

/// Looks at a cluster, within ten seconds.
pub(super) async fn look(client: &Client) -> Seen {
    let span = tracing::info_span!("cluster.connect");
    let again = async {
        let mut seen = observe(client).await;
        for _ in 0..KEPT {
            // Connections that were kept may have died meanwhile; that says nothing about the cluster, and
            // each try drops one of them.
            match seen {
                Err(Unreachable::Broken(_)) => seen = observe(client).await,
                seen => return seen,
            }
        }
        seen
    };
    let looking = tokio::time::timeout(PATIENCE, again).instrument(span);
    looking.await.unwrap_or(Err(Unreachable::Timeout(PATIENCE.as_secs())))
}

async fn observe(client: &Client) -> Seen {
    let begun = Instant::now();
    let version = version(client).await?;
    let latency = begun.elapsed();
    let (unready, nodes, uid) = tokio::try_join!(readiness(client), nodes(client), uid(client))?;
    let (nodes, not_ready) = nodes.map_or((None, Vec::new()), |(nodes, names)| (Some(nodes), names));
    Ok(Observation {
        kubernetes_version: version,
        uid,
        nodes,
        not_ready,
        unready,
        latency_ms: u32::try_from(latency.as_millis()).unwrap_or(u32::MAX),
    })
}

fn why(error: &kube::Error) -> Unreachable {
    unreachable(error, PATIENCE.as_secs())
}

/// A short answer of the API server, whatever its status.
async fn ask(client: &Client, path: &str) -> Result<(StatusCode, Vec<u8>), Unreachable> {
    let request = Request::get(path)
        .body(Body::empty())
        .map_err(|_| Unreachable::Strange("its address takes no path".to_owned()))?;
    let reply = client.send(request).await.map_err(|error| why(&error))?;
    let status = reply.status();
    let body = Limited::new(reply.into_body(), ANSWER).collect().await;
    let body = body.map_err(|_| Unreachable::Strange("its answer is too long, or broke".to_owned()))?;
    Ok((status, body.to_bytes().to_vec()))
}

async fn version(client: &Client) -> Result<String, Unreachable> {
    let (status, body) = ask(client, "/version").await?;
    match status.as_u16() {
        200 => {}
        401 => return Err(Unreachable::Unauthorized),
        code @ 300..=399 => return Err(Unreachable::Redirected(code)),
        code => return Err(Unreachable::Strange(format!("status {code} for /version"))),
    }
    let version: Version = serde_json::from_slice(&body)
        .map_err(|_| Unreachable::Strange("its version cannot be read".to_owned()))?;
    let fits = version.git_version.len() <= 64 && version.git_version.chars().all(|c| c.is_ascii_graphic());
    if fits { Ok(version.git_version) } else { Err(Unreachable::Strange("its version is odd".to_owned())) }
}

/// What the API server lacks to be ready; nothing if it is, or does not tell us.
async fn readiness(client: &Client) -> Result<Option<String>, Unreachable> {
    let (status, body) = ask(client, "/readyz").await?;
    if !status.is_server_error() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&body);
    let failing: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[-]"))
        .filter_map(|line| line.split_whitespace().next())
        .take(NAMED)
        .collect();
    Ok(Some(if failing.is_empty() { format!("status {}", status.as_u16()) } else { failing.join(", ") }))
}

/// The nodes, and some that are not ready; nothing if we may not list them.
async fn nodes(client: &Client) -> Result<Option<(NodeCount, Vec<String>)>, Unreachable> {
    let api: Api<SlimNode> = Api::all_with(client.clone(), &ApiResource::erase::<Node>(&()));
    let (mut count, mut names) = (NodeCount::default(), Vec::new());
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = match api.list(&page).await {
            Err(kube::Error::Api(status)) if status.code == 403 => return Ok(None),
            other => other.map_err(|error| why(&error))?,
        };
        for node in &list.items {
            let conditions = node.status.iter().flat_map(|status| &status.conditions);
            let mut ready = conditions.filter(|condition| condition.kind == "Ready");
            if ready.any(|condition| condition.status == "True") {
                count.ready += 1;
            } else {
                count.not_ready += 1;
                if names.len() < NAMED {
                    names.push(node.name_any());
                }
            }
        }
        match list.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => page = page.continue_token(&next),
            None => return Ok(Some((count, names))),
        }
    }
}

/// What tells the cluster from others; nothing if we may not see it.
async fn uid(client: &Client) -> Result<Option<String>, Unreachable> {
    let namespaces = Api::<Namespace>::all(client.clone());
    match namespaces.get_metadata_opt("kube-system").await {
        Ok(namespace) => Ok(namespace.and_then(|namespace| namespace.metadata.uid)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(why(&error)),
    }
}
