//! How many pods a workload wants, where an autoscaler says so: a release leaves that as it is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::api::Api;
use super::fault::Fault;
use super::object::{ObjectRef, annotation};
use super::workloads::{Kind, Workload};

/// Writes the live number of pods into every workload that an autoscaler looks after. Left out, helm would set it
/// to one where nobody else ever wrote it; as the chart has it, to what the chart says. The places that were
/// changed.
pub(crate) async fn carry_over(
    api: &Api,
    namespace: &str,
    objects: &mut [Value],
) -> Result<Vec<usize>, Fault> {
    let mut changed = Vec::new();
    let mut scaled = Scaled::of(objects, namespace);
    for (at, object) in objects.iter_mut().enumerate() {
        let Some(workload) = Workload::of(std::slice::from_ref(object), namespace).pop() else { continue };
        // What a second colour will want is noted on it, and it wants none before that.
        let is_asleep = annotation(object, super::colours::REPLICAS).is_some();
        let Some(written) = object.pointer("/spec/replicas").and_then(Value::as_i64) else { continue };
        if workload.kind == Kind::DaemonSet || is_asleep {
            continue;
        }
        let Some(live) = workload.replicas(api).await?.map(i64::from).filter(|live| *live != written) else {
            continue;
        };
        // None at all is a switch, or a person; an autoscaler leaves such a workload alone.
        if live > 0 && scaled.holds(api, &workload).await? {
            object["spec"]["replicas"] = live.into();
            changed.push(at);
        }
    }
    Ok(changed)
}

/// The workloads that autoscalers look after: those of a chart, and those that are there.
struct Scaled {
    known: BTreeSet<(String, String, String)>,
    read: BTreeSet<String>,
}

impl Scaled {
    fn of(objects: &[Value], namespace: &str) -> Self {
        let is_scaler = |object: &&Value| {
            ObjectRef::of(object)
                .is_some_and(|it| it.group == "autoscaling" && it.kind == "HorizontalPodAutoscaler")
        };
        let known = objects.iter().filter(is_scaler).filter_map(|scaler| target(scaler, namespace)).collect();
        Self { known, read: BTreeSet::new() }
    }

    async fn holds(&mut self, api: &Api, workload: &Workload) -> Result<bool, Fault> {
        let namespace = &workload.namespace;
        if self.read.insert(namespace.clone()) {
            let path = format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers");
            let list = api.find(&path).await?.unwrap_or_default();
            let items = list.get("items").and_then(Value::as_array);
            self.known.extend(items.into_iter().flatten().filter_map(|scaler| target(scaler, namespace)));
        }
        let kind = format!("{:?}", workload.kind);
        Ok(self.known.contains(&(namespace.clone(), kind, workload.name.clone())))
    }
}

/// What an autoscaler looks after: namespace, kind and name.
fn target(scaler: &Value, namespace: &str) -> Option<(String, String, String)> {
    let text = |pointer: &str| scaler.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let namespace = text("/metadata/namespace").unwrap_or_else(|| namespace.to_owned());
    Some((namespace, text("/spec/scaleTargetRef/kind")?, text("/spec/scaleTargetRef/name")?))
}
