//! Pods, found through the workloads of a release: by owner, not by what labels might mean.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use slipway_domain::health::{ContainerSeen, Exit, PodSeen, Usage, Waiting, WorkloadSeen};

use super::call::{Call, Fault, quoted};
use super::quantity::{millis, units};
use super::release::{Subject, WorkloadRef};
use super::usage;

/// So many workloads are read at once.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

/// The workloads of a release with their pods.
pub(super) async fn look(call: &Call, subject: &Subject) -> Result<Vec<WorkloadSeen>, Fault> {
    let reads: Vec<_> =
        subject.workloads.iter().map(|workload| async move { read(call, workload).await }).collect();
    let reads: Vec<Result<WorkloadSeen, Fault>> =
        futures::stream::iter(reads).buffered(AT_ONCE).collect().await;
    reads.into_iter().collect()
}

/// What a workload says about its pods.
struct Wanted {
    expected: u32,
    selector: Option<String>,
    /// The uids of what its pods belong to.
    owners: BTreeSet<String>,
}

async fn read(call: &Call, workload: &WorkloadRef) -> Result<WorkloadSeen, Fault> {
    let wanted = match wanted(call, workload).await {
        Ok(wanted) => Some(wanted),
        Err(fault) if fault.is_absence() => None,
        Err(fault) => return Err(fault),
    };
    let mut seen = WorkloadSeen {
        kind: workload.kind.clone(),
        namespace: workload.namespace.clone(),
        name: workload.name.clone(),
        exists: wanted.is_some(),
        expected: wanted.as_ref().map_or(0, |wanted| wanted.expected),
        pods: Vec::new(),
    };
    let Some(wanted) = wanted else { return Ok(seen) };
    let Some(selector) = wanted.selector else { return Ok(seen) };
    let pods = list::<Pod>(call, "/api/v1", &workload.namespace, "pods", &selector);
    let (pods, usage) = futures::join!(pods, usage::look(call, &workload.namespace, &selector));
    for pod in pods? {
        let ends = pod.metadata.deletion_timestamp.is_some();
        let over = matches!(phase(&pod), "Succeeded" | "Failed");
        if owned_by(&pod.metadata, &wanted.owners) && !ends && !over {
            let mut pod = pod_seen(&pod);
            for container in &mut pod.containers {
                container.usage = usage.get(&(pod.name.clone(), container.name.clone())).copied();
            }
            seen.pods.push(pod);
        }
    }
    seen.pods.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(seen)
}

async fn wanted(call: &Call, workload: &WorkloadRef) -> Result<Wanted, Fault> {
    let WorkloadRef { kind, namespace, name } = workload;
    let path = |plural: &str| format!("/apis/apps/v1/namespaces/{namespace}/{plural}/{name}");
    let uid = |metadata: &ObjectMeta| metadata.uid.clone().into_iter().collect::<BTreeSet<_>>();
    let replicas = |count: Option<i32>| u32::try_from(count.unwrap_or(1)).unwrap_or_default();
    match kind.as_str() {
        "StatefulSet" => {
            let found: StatefulSet = call.get(&path("statefulsets")).await?;
            let spec = found.spec;
            Ok(Wanted {
                expected: replicas(spec.replicas),
                selector: selector(&spec.selector),
                owners: uid(&found.metadata),
            })
        }
        "DaemonSet" => {
            let found: DaemonSet = call.get(&path("daemonsets")).await?;
            let desired = found.status.map(|status| status.desired_number_scheduled);
            Ok(Wanted {
                expected: replicas(Some(desired.unwrap_or_default())),
                selector: selector(&found.spec.selector),
                owners: uid(&found.metadata),
            })
        }
        _ => {
            let found: Deployment = call.get(&path("deployments")).await?;
            let spec = found.spec;
            let selector = selector(&spec.selector);
            let mut owners = BTreeSet::new();
            if let Some(selector) = &selector {
                let sets =
                    list::<ReplicaSet>(call, "/apis/apps/v1", namespace, "replicasets", selector).await?;
                let own = uid(&found.metadata);
                let sets = sets.into_iter().filter(|set| owned_by(&set.metadata, &own));
                owners.extend(sets.filter_map(|set| set.metadata.uid));
            }
            Ok(Wanted { expected: replicas(spec.replicas), selector, owners })
        }
    }
}

async fn list<T: DeserializeOwned>(
    call: &Call,
    base: &str,
    namespace: &str,
    plural: &str,
    selector: &str,
) -> Result<Vec<T>, Fault> {
    let path = format!("{base}/namespaces/{namespace}/{plural}?labelSelector={}", quoted(selector));
    call.get::<List<T>>(&path).await.map(|list| list.items)
}

fn owned_by(metadata: &ObjectMeta, owners: &BTreeSet<String>) -> bool {
    metadata
        .owner_references
        .iter()
        .flatten()
        .any(|owner| owner.controller == Some(true) && owners.contains(&owner.uid))
}

/// A selector as a query writes it. One that selects everything is not used: it would be a mistake.
fn selector(selector: &LabelSelector) -> Option<String> {
    let labels = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().filter_map(|expression| {
        let (key, values) = (&expression.key, expression.values.clone().unwrap_or_default().join(","));
        match expression.operator.as_str() {
            "In" => Some(format!("{key} in ({values})")),
            "NotIn" => Some(format!("{key} notin ({values})")),
            "Exists" => Some(key.clone()),
            "DoesNotExist" => Some(format!("!{key}")),
            _ => None,
        }
    });
    let parts: Vec<String> = labels.chain(expressions).collect();
    (!parts.is_empty()).then(|| parts.join(","))
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown")
}

fn pod_seen(pod: &Pod) -> PodSeen {
    let phase = phase(pod).to_owned();
    let limits = |name: &str| -> Usage {
        let spec = pod.spec.as_ref();
        let container = spec.and_then(|spec| spec.containers.iter().find(|container| container.name == name));
        let limits = container
            .and_then(|container| container.resources.as_ref())
            .and_then(|resources| resources.limits.as_ref());
        Usage {
            cpu_millis: limits.and_then(|limits| limits.get("cpu")).and_then(|quantity| millis(&quantity.0)),
            memory_bytes: limits
                .and_then(|limits| limits.get("memory"))
                .and_then(|quantity| units(&quantity.0)),
        }
    };
    let status = pod.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let condition = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
    let trouble = condition("PodScheduled")
        .filter(|condition| condition.status != "True")
        .and_then(|condition| condition.message.clone());
    let started = status.init_container_statuses.into_iter().flatten();
    let containers = started
        .chain(status.container_statuses.into_iter().flatten())
        .map(|status| ContainerSeen { limit: limits(&status.name), ..container_seen(status) });
    PodSeen {
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        name: pod.metadata.name.clone().unwrap_or_default(),
        ready: condition("Ready").is_some_and(|condition| condition.status == "True"),
        phase,
        created: pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        trouble: trouble.or(status.message),
        containers: containers.collect(),
    }
}

fn container_seen(status: ContainerStatus) -> ContainerSeen {
    let waiting = status.state.and_then(|state| state.waiting).map(|waiting| Waiting {
        reason: waiting.reason.unwrap_or_else(|| "Waiting".to_owned()),
        message: waiting.message,
    });
    let last = status
        .last_state
        .and_then(|state| state.terminated)
        .map(|end| Exit { reason: end.reason.unwrap_or_else(|| "Ended".to_owned()), code: end.exit_code });
    ContainerSeen {
        name: status.name,
        restarts: u32::try_from(status.restart_count).unwrap_or_default(),
        waiting,
        last_exit: last,
        usage: None,
        limit: Usage::default(),
    }
}
