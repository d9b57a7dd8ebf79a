//! Labels of the children, and how the pods are found by them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::names::Names;
use crate::crd::{Application, MANAGED_BY, MANAGER};

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The labels of every child.
///
/// They select the pods too, and a Deployment's selector cannot change, so neither may these. The manager is
/// among them: a helm release of the same name in the same namespace carries the other two as well.
pub fn labels(app: &Application) -> BTreeMap<String, String> {
    of(&Names::of(app))
}

pub(super) fn of(names: &Names) -> BTreeMap<String, String> {
    [(NAME, names.instance.as_str()), (INSTANCE, &names.instance), (MANAGED_BY, MANAGER)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Selects the pods of an Application.
pub fn selector(app: &Application) -> LabelSelector {
    selecting(&Names::of(app))
}

pub(super) fn selecting(names: &Names) -> LabelSelector {
    LabelSelector { match_labels: Some(of(names)), match_expressions: None }
}

/// Selects the pods of an Application, as `status.labelSelector` says it.
pub fn selector_string(app: &Application) -> String {
    let pairs: Vec<String> = labels(app).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}
