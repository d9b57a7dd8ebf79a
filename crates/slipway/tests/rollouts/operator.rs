//! An operator to roll out: a controller, a definition, and a hook that holds helm up where a test wants that.

use serde_json::{Map, Value, json};
use slipway_testkit::charts::ChartBuilder;

/// The group of an operator's definition.
pub(crate) fn group(name: &str) -> String {
    format!("{name}.example.com")
}

/// The definition of an operator's parcels; each minor version knows one field more than the one before.
pub(crate) fn definition(name: &str, minor: u32) -> Value {
    let mut fields = Map::new();
    fields.insert("to".to_owned(), json!({"type": "string"}));
    for number in 1..=minor {
        fields.insert(format!("since{number}"), json!({"type": "string"}));
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("parcels.{}", group(name))},
        "spec": {
            "group": group(name),
            "scope": "Namespaced",
            "names": {"plural": "parcels", "singular": "parcel", "kind": "Parcel", "listKind": "ParcelList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": fields}},
            }}}],
        },
    })
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}', labels: {app.kubernetes.io/instance: '{{ .Release.Name }}'}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}}
    spec: {containers: [{name: main, image: 'example.test/{{ .Chart.Name }}:{{ .Chart.Version }}'}]}
";

/// What somebody else keeps in the cluster is rendered into it, as charts with `lookup` do.
const CONFIG: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-config'}
data:
  weather: {{ dig \"data\" \"weather\" \"fair\" (lookup \"v1\" \"ConfigMap\" \"default\" \"weather\") | quote }}
";

/// It is scheduled once a node says so, and helm waits for it meanwhile.
const HOLD: &str = "{{- if .Values.hold }}
apiVersion: batch/v1
kind: Job
metadata:
  name: '{{ .Release.Name }}-{{ .Values.hold }}'
  annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {'released-{{ .Values.hold }}': 'yes'}
      containers: [{name: main, image: example.test/hold}]
{{- end }}
";

/// A version of an operator without its definition.
pub(crate) fn bare(name: &str, version: &str) -> ChartBuilder {
    ChartBuilder::new(name, version)
        .values("replicas: 2\nhold: ''\n")
        .template("deployment.yaml", DEPLOYMENT)
        .template("config.yaml", CONFIG)
        .template("hold.yaml", HOLD)
}

/// A version of an operator.
pub(crate) fn chart(name: &str, version: &str) -> ChartBuilder {
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap();
    bare(name, version).crd("parcels.yaml", &definition(name, minor).to_string())
}
