//! Images, brought to the nodes before a cold switch, so that the pause is no longer than pods take to start.
//!
//! The second colour wants no pods yet, so none of its nodes has its images. A pod of its own asks for them; the
//! program that it would run does not exist in any image, so nothing of the operator ever runs.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use slipway_domain::profile::Handover;
use slipway_orchestrator::ports::fleet::Act;

use super::api::{Api, quoted};
use super::attempt::{Attempt, LABEL};
use super::fault::Fault;
use super::object::read_all;
use super::revisions;
use super::workloads::Workload;

/// How often pods are looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// So many nodes get the images beforehand.
const MOST: usize = 10;

/// No image has this program.
const NOTHING: &str = "/slipway-only-pulls-this-image";

/// What a kubelet says while it has not got an image, or will not get it.
const WAITING: [&str; 3] = ["", "ContainerCreating", "PodInitializing"];
const REFUSED: [&str; 5] =
    ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"];

/// Brings the images of a second release that will be switched to cold. It fails where an image cannot be had:
/// nothing was switched yet.
pub(super) async fn before_switch(api: &Api, act: &Act) -> Result<(), Fault> {
    let Some(beside) = &act.subject.placement.beside else { return Ok(()) };
    if act.subject.profile.handover != Handover::Cold {
        return Ok(());
    }
    let release = &beside.release;
    let Some(newest) = revisions::newest(api, release).await? else { return Ok(()) };
    let manifest = revisions::manifest(api, release, &newest).await?;
    let objects = read_all(&manifest)
        .map_err(|why| Fault::Failed(format!("the manifest of {} cannot be read: {why}", newest.secret)))?;
    let nodes = nodes(api, act).await?;
    let mut pods = Vec::new();
    for (workload, object) in paired(&objects, &release.namespace) {
        for node in &nodes {
            if let Some(pod) = pod(act, &workload, object, node.as_deref()) {
                pods.push(pod);
            }
        }
    }
    let mut made = Vec::new();
    for pod in &pods {
        let namespace = pod.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        match api.post(&format!("/api/v1/namespaces/{namespace}/pods"), pod).await {
            Ok(_) => made.push(path(pod)),
            Err(trouble) if trouble.code() == Some(409) => made.push(path(pod)),
            // Such as a quota, or a policy about pods: the switch takes longer then, and works all the same.
            Err(trouble) if trouble.code().is_some() => {
                tracing::warn!(%trouble, cluster = api.cluster(), "images are not pulled before the switch");
            }
            Err(trouble) => return Err(trouble.into()),
        }
    }
    let pulled = wait(api, &made).await;
    for path in &made {
        api.patient().delete(&format!("{path}?gracePeriodSeconds=0")).await?;
    }
    pulled
}

fn paired<'a>(objects: &'a [Value], namespace: &'a str) -> impl Iterator<Item = (Workload, &'a Value)> {
    objects.iter().filter_map(move |object| {
        Workload::of(std::slice::from_ref(object), namespace).pop().map(|workload| (workload, object))
    })
}

fn path(pod: &Value) -> String {
    let text =
        |key: &str| pod.pointer(&format!("/metadata/{key}")).and_then(Value::as_str).unwrap_or_default();
    format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"))
}

/// The nodes that the first release runs on: the second one's pods go where their images are. One that the
/// scheduler chooses, where it runs nowhere.
async fn nodes(api: &Api, act: &Act) -> Result<Vec<Option<String>>, Fault> {
    let release = &act.subject.placement.release;
    let mut nodes = BTreeSet::new();
    if let Some(newest) = revisions::newest(api, release).await? {
        let manifest = revisions::manifest(api, release, &newest).await?;
        let objects = read_all(&manifest).unwrap_or_default();
        for workload in Workload::of(&objects, &release.namespace) {
            for name in workload.pod_names(api).await? {
                let pod = api.find(&format!("/api/v1/namespaces/{}/pods/{name}", workload.namespace)).await?;
                let node = pod.as_ref().and_then(|pod| pod.pointer("/spec/nodeName")?.as_str());
                nodes.extend(node.map(str::to_owned));
            }
        }
    }
    if nodes.is_empty() {
        return Ok(vec![None]);
    }
    Ok(nodes.into_iter().take(MOST).map(Some).collect())
}

/// A pod that asks for the images of a workload on a node.
fn pod(act: &Act, workload: &Workload, object: &Value, node: Option<&str>) -> Option<Value> {
    let spec = object.pointer("/spec/template/spec")?;
    let attempt = Attempt::of(act);
    let hash = Sha256::digest(format!("{} {workload} {node:?}", attempt.label).as_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut images = BTreeSet::new();
    let mut containers = Vec::new();
    for container in
        ["initContainers", "containers"].iter().filter_map(|key| spec.get(key)?.as_array()).flatten()
    {
        let Some(image) = container.get("image").and_then(Value::as_str) else { continue };
        if !images.insert(image) {
            continue;
        }
        let mut asked = Map::new();
        asked.insert("name".to_owned(), format!("image-{}", images.len()).into());
        asked.insert("command".to_owned(), json!([NOTHING]));
        for key in ["image", "imagePullPolicy", "securityContext"] {
            if let Some(value) = container.get(key) {
                asked.insert(key.to_owned(), value.clone());
            }
        }
        containers.push(Value::Object(asked));
    }
    let mut asked = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        // Whoever should tidy up may be gone.
        "activeDeadlineSeconds": 600,
        "terminationGracePeriodSeconds": 0,
        "containers": containers,
    });
    let mut keys =
        vec!["serviceAccountName", "imagePullSecrets", "securityContext", "runtimeClassName", "os"];
    match node {
        Some(node) => asked["nodeName"] = node.into(),
        None => keys.extend(["nodeSelector", "affinity", "tolerations", "schedulerName"]),
    }
    for key in keys {
        if let Some(value) = spec.get(key) {
            asked[key] = value.clone();
        }
    }
    Some(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("slipway-pull-{hash}"), "namespace": workload.namespace,
            "labels": {"app.kubernetes.io/managed-by": "slipway", LABEL: attempt.label}},
        "spec": asked}))
}

async fn wait(api: &Api, pods: &[String]) -> Result<(), Fault> {
    for path in pods {
        loop {
            let Some(pod) = api.find(path).await? else { break };
            match seen(&pod) {
                Ok(true) => break,
                Ok(false) => {}
                Err(why) => return Err(Fault::Failed(why)),
            }
            if api.left() < 4 * PAUSE {
                return Err(Fault::Failed(format!(
                    "the images of the new version did not come in time; the pod {} asks for them",
                    quoted(path.rsplit('/').next().unwrap_or_default())
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Whether a node has all images of a pod; why it will not have one.
fn seen(pod: &Value) -> Result<bool, String> {
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or("no node yet");
    let mut there = 0;
    for status in statuses.into_iter().flatten() {
        let waiting = status.pointer("/state/waiting");
        let text = |key: &str| waiting.and_then(|waiting| waiting.get(key)?.as_str()).unwrap_or_default();
        let reason = text("reason");
        if REFUSED.contains(&reason) {
            let image = status.get("image").and_then(Value::as_str).unwrap_or_default();
            return Err(format!(
                "the image {image} cannot be pulled on {node} ({reason}): {}",
                text("message")
            ));
        }
        there += usize::from(waiting.is_none() || !WAITING.contains(&reason));
    }
    let ended = matches!(pod.pointer("/status/phase").and_then(Value::as_str), Some("Failed" | "Succeeded"));
    let wanted = pod.pointer("/spec/containers").and_then(Value::as_array).map_or(0, Vec::len);
    Ok(ended || there >= wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod_with(states: &[Value], phase: &str) -> Value {
        let statuses: Vec<Value> =
            states.iter().map(|state| json!({"image": "example.test/a:1", "state": state})).collect();
        json!({"spec": {"nodeName": "n", "containers": states}, "status": {"phase": phase, "containerStatuses": statuses}})
    }

    #[test]
    fn a_node_has_an_image_once_its_pod_fails_for_another_reason() {
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let gone = json!({"terminated": {"reason": "StartError", "exitCode": 128}});
        let missing = json!({"waiting": {"reason": "RunContainerError"}});
        assert_eq!(seen(&pod_with(&[creating.clone(), gone.clone()], "Pending")), Ok(false));
        assert_eq!(seen(&pod_with(&[gone, missing], "Pending")), Ok(true));
        assert_eq!(seen(&pod_with(&[creating], "Failed")), Ok(true));
        let refused = json!({"waiting": {"reason": "ErrImagePull", "message": "not found"}});
        let why = seen(&pod_with(&[refused], "Pending")).unwrap_err();
        assert!(why.contains("example.test/a:1") && why.contains("not found"), "{why}");
    }
}
