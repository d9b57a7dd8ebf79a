//! Who manages an object, by the marks that tools leave on what they manage.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use serde_json::Value;
use slipway_domain::operator::Manager;

/// A tool, and what it calls the thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) manager: Manager,
    pub(crate) reference: Option<String>,
}

const NONE: &BTreeMap<String, String> = &BTreeMap::new();

/// The tool that marked a live object.
pub(super) fn of_object(metadata: &ObjectMeta) -> Option<Mark> {
    of_marks(metadata.labels.as_ref().unwrap_or(NONE), metadata.annotations.as_ref().unwrap_or(NONE))
}

/// The tool that marked what helm applied: Flux puts its labels in while helm renders.
pub(super) fn of_manifest(manifest: &str) -> Option<Mark> {
    // Reading every manifest of every release costs; most say nothing of the sort.
    if !["helm.toolkit.fluxcd.io/", "argocd.argoproj.io/", "olm.owner"]
        .iter()
        .any(|mark| manifest.contains(mark))
    {
        return None;
    }
    slipway_manifests::read(manifest).ok()?.iter().find_map(|document| of_value(&document.value))
}

/// The tool that marked an object, live or written.
pub(crate) fn of_value(object: &Value) -> Option<Mark> {
    let texts = |pointer: &str| -> BTreeMap<String, String> {
        let fields = object.pointer(pointer).and_then(Value::as_object);
        let texts = fields.into_iter().flatten();
        texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    of_marks(&texts("/metadata/labels"), &texts("/metadata/annotations"))
}

fn of_marks(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Option<Mark> {
    let mark = |manager, reference: Option<String>| Some(Mark { manager, reference });
    if let Some(name) = labels.get("helm.toolkit.fluxcd.io/name") {
        let namespace = labels.get("helm.toolkit.fluxcd.io/namespace");
        return mark(Manager::Flux, Some(joined(namespace, name)));
    }
    if let Some(name) = labels.get("kustomize.toolkit.fluxcd.io/name") {
        let namespace = labels.get("kustomize.toolkit.fluxcd.io/namespace");
        return mark(Manager::Flux, Some(joined(namespace, name)));
    }
    // `<application>:<group>/<kind>:<namespace>/<name>`.
    if let Some(id) = annotations.get("argocd.argoproj.io/tracking-id") {
        return mark(Manager::ArgoCd, id.split(':').next().map(str::to_owned));
    }
    if let Some(name) = labels.get("argocd.argoproj.io/instance") {
        return mark(Manager::ArgoCd, Some(name.clone()));
    }
    if let Some(owner) = labels.get("olm.owner") {
        return mark(Manager::Olm, Some(owner.clone()));
    }
    if labels.get("olm.managed").is_some_and(|value| value == "true") {
        return mark(Manager::Olm, None);
    }
    None
}

fn joined(namespace: Option<&String>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[expect(clippy::unnecessary_wraps, reason = "what is compared with it may be missing")]
    fn mark(manager: Manager, reference: &str) -> Option<Mark> {
        Some(Mark { manager, reference: Some(reference.to_owned()) })
    }

    #[test]
    fn tools_are_known_by_their_marks() {
        let none = BTreeMap::new();
        let flux = map(&[
            ("helm.toolkit.fluxcd.io/name", "web"),
            ("helm.toolkit.fluxcd.io/namespace", "flux-system"),
        ]);
        assert_eq!(of_marks(&flux, &none), mark(Manager::Flux, "flux-system/web"));
        let argo = map(&[("argocd.argoproj.io/tracking-id", "shop:apps/Deployment:apps/web")]);
        assert_eq!(of_marks(&none, &argo), mark(Manager::ArgoCd, "shop"));
        assert_eq!(
            of_marks(&map(&[("argocd.argoproj.io/instance", "shop")]), &none),
            mark(Manager::ArgoCd, "shop")
        );
        assert_eq!(
            of_marks(&map(&[("olm.owner", "kafka.v1.2.3")]), &none),
            mark(Manager::Olm, "kafka.v1.2.3")
        );
        // What helm itself and many charts write is nobody's mark.
        let plain = map(&[("app.kubernetes.io/instance", "web"), ("app.kubernetes.io/managed-by", "Helm")]);
        assert_eq!(of_marks(&plain, &none), None);
    }

    #[test]
    fn a_manifest_is_marked_where_an_object_in_it_is() {
        let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Service\nmetadata:\n  labels:\n    helm.toolkit.fluxcd.io/name: web\n";
        assert_eq!(of_manifest(manifest), mark(Manager::Flux, "web"));
        assert_eq!(of_manifest("data: {text: argocd.argoproj.io/tracking-id}"), None);
    }
}
