//! The disruption budget of several pods.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::config::metadata;
use super::labels;
use super::names::Names;
use crate::crd::Application;

/// One pod at a time may be drained away. A single pod has no budget: it could never be drained at all. Pods
/// that do not work protect nobody, so they may always be evicted.
pub(super) fn budget(app: &Application, names: &Names) -> Option<PodDisruptionBudget> {
    (app.spec.replicas > 1).then(|| PodDisruptionBudget {
        metadata: metadata(app, names, &names.budget),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(labels::selecting(names)),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    })
}
