use serde_json::{Value, json};

use super::{Crd, CrdError};

fn widget() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
            "scope": "Namespaced",
            "preserveUnknownFields": false,
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
                 "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}},
                 "additionalPrinterColumns": [{"name": "Age"}], "selectableFields": [{"jsonPath": ".spec.a"}]},
                {"name": "v1beta1", "served": false, "storage": false, "deprecated": true,
                 "deprecationWarning": "use v1"},
            ],
        },
        "status": {"storedVersions": ["v1beta1", "v1"]},
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut crd = widget();
    *crd.pointer_mut(pointer).unwrap() = value;
    crd
}

#[test]
fn a_definition_answers_for_what_it_says() {
    let crd = Crd::from_value(widget()).unwrap();
    assert_eq!(
        (crd.name(), crd.group(), crd.kind(), crd.plural(), crd.scope()),
        ("widgets.example.com", "example.com", "Widget", "widgets", "Namespaced")
    );
    assert_eq!(crd.stored_versions(), ["v1beta1", "v1"]);
    assert!(!crd.preserve_unknown_fields());
    assert_eq!(crd.raw(), &widget());
    assert_eq!(crd.storage_version().map(|version| version.name()), Some("v1"));
}

#[test]
fn a_version_answers_for_what_it_says() {
    let crd = Crd::from_value(widget()).unwrap();
    let [v1, old] = crd.versions()[..] else { panic!("two versions") };
    assert!(v1.served() && v1.storage() && !v1.deprecated() && v1.has_status());
    assert_eq!(v1.schema(), Some(&json!({"type": "object"})));
    assert_eq!(v1.scale().and_then(|scale| scale["specReplicasPath"].as_str()), Some(".spec.replicas"));
    assert_eq!((v1.printer_columns().len(), v1.selectable_fields().len()), (1, 1));
    assert!(!old.served() && old.deprecated() && !old.has_status());
    assert_eq!((old.schema(), old.scale(), old.deprecation_warning()), (None, None, Some("use v1")));
    assert_eq!(old.raw()["name"], "v1beta1");
    assert_eq!(crd.version("v2"), None);
}

#[test]
fn another_document_is_not_taken_for_a_definition() {
    for (document, says) in [
        (json!([]), "not a CustomResourceDefinition: the document is an array"),
        (json!({"kind": "CustomResourceDefinition"}), "not a CustomResourceDefinition: it has no apiVersion"),
        (json!({"apiVersion": 1}), "not a CustomResourceDefinition: apiVersion is a number, not a string"),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            "not a CustomResourceDefinition: it is v1 ConfigMap",
        ),
        (
            with("/apiVersion", json!("apiextensions.k8s.io/v9")),
            "not a CustomResourceDefinition: apiVersion apiextensions.k8s.io/v9 is unknown, expected apiextensions.k8s.io/v1",
        ),
    ] {
        assert_eq!(Crd::from_value(document).unwrap_err().to_string(), says);
    }
}

#[test]
fn a_v1beta1_definition_is_told_what_to_do() {
    let error = Crd::from_value(with("/apiVersion", json!("apiextensions.k8s.io/v1beta1"))).unwrap_err();
    assert_eq!(error, CrdError::OldApiVersion("apiextensions.k8s.io/v1beta1".into()));
    assert!(error.to_string().ends_with("write the CRD as apiextensions.k8s.io/v1"));
}

#[test]
fn a_wrong_type_is_named_with_its_path() {
    for (pointer, value, says) in [
        ("/metadata", json!(3), "metadata: must be an object, not a number"),
        ("/metadata/name", json!(""), "metadata.name: is empty"),
        ("/spec", json!(null), "spec: is missing"),
        ("/spec/group", json!(["a"]), "spec.group: must be a string, not an array"),
        ("/spec/scope", json!("Global"), "spec.scope: must be Namespaced or Cluster, not \"Global\""),
        ("/spec/names/singular", json!(true), "spec.names.singular: must be a string, not a boolean"),
        ("/spec/names/shortNames/0", json!({}), "spec.names.shortNames[0]: must be a string, not an object"),
        (
            "/spec/preserveUnknownFields",
            json!("no"),
            "spec.preserveUnknownFields: must be a boolean, not a string",
        ),
        ("/spec/versions", json!({}), "spec.versions: must be an array, not an object"),
        ("/spec/versions", json!([]), "spec.versions: has no entry"),
        ("/spec/versions/1", json!(null), "spec.versions[1]: must be an object, not null"),
        ("/spec/versions/1/name", json!("v1"), "spec.versions[1].name: \"v1\" appears twice"),
        ("/spec/versions/0/served", json!(1), "spec.versions[0].served: must be a boolean, not a number"),
        (
            "/spec/versions/0/schema/openAPIV3Schema",
            json!([]),
            "spec.versions[0].schema.openAPIV3Schema: must be an object, not an array",
        ),
        ("/status/storedVersions", json!("v1"), "status.storedVersions: must be an array, not a string"),
    ] {
        assert_eq!(Crd::from_value(with(pointer, value)).unwrap_err().to_string(), says);
    }
}
