//! A chart that holds what was rendered already: helm applies exactly that.

use serde_json::{Map, Value};

use crate::archive::{File, pack};
use crate::error::HelmError;

/// The one template. It prints files without looking into them, so that braces in them mean nothing.
const TEMPLATE: &str =
    "{{- range $path, $_ := .Files.Glob \"manifests/*.yaml\" }}\n---\n{{ $.Files.Get $path }}\n{{- end }}\n";

/// What a generated chart holds.
#[derive(Debug, Clone)]
pub struct Generated<'a> {
    /// The chart's `Chart.yaml`; parts that it depends on are left out, since they are rendered already.
    pub metadata: Map<String, Value>,
    /// The chart's own `values.yaml`, so that `helm get values --all` still tells the truth.
    pub values: Option<&'a str>,
    /// The manifests and hooks, each one document of YAML.
    pub manifests: &'a [&'a str],
    /// What people are told.
    pub notes: Option<&'a str>,
}

impl Generated<'_> {
    /// Packs it.
    pub fn archive(mut self) -> Result<Vec<u8>, HelmError> {
        self.metadata.remove("dependencies");
        let name = self.metadata.get("name").and_then(Value::as_str).unwrap_or("chart").to_owned();
        // JSON is YAML, and needs no care with quoting.
        let metadata = Value::Object(self.metadata).to_string();
        let mut files = vec![
            File::new("Chart.yaml", metadata),
            File::new("values.yaml", self.values.unwrap_or_default()),
            File::new("templates/manifests.yaml", TEMPLATE),
        ];
        if let Some(notes) = self.notes {
            files.push(File::new("notes.txt", notes));
            files.push(File::new("templates/NOTES.txt", "{{ .Files.Get \"notes.txt\" }}"));
        }
        for (number, manifest) in self.manifests.iter().enumerate() {
            files.push(File::new(format!("manifests/{number:05}.yaml"), *manifest));
        }
        pack(&name, &files)
    }
}
