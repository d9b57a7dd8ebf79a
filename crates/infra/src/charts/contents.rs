//! The definitions that a chart brings.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_helm::{HelmError, Template};
use slipway_manifests::{Limits as YamlLimits, read_with};
use slipway_orchestrator::ports::charts::{Archive, ChartContents, ChartsError, Rendering};

use super::{ChartRepositories, archive};

impl ChartRepositories {
    pub(super) async fn contents(
        &self,
        archive: &Archive,
        rendering: Rendering<'_>,
    ) -> Result<ChartContents, ChartsError> {
        let (bytes, limits) = (archive.bytes.clone(), self.limits);
        let refused = |reason: String| ChartsError::Archive { what: archive.digest.clone(), reason };
        let read = tokio::task::spawn_blocking(move || {
            let chart = archive::Chart::read(&bytes, &limits)?;
            let mut found = BTreeMap::new();
            for (file, text) in &chart.crds {
                collect(text, &mut found).map_err(|reason| format!("{file}: {reason}"))?;
            }
            Ok::<_, String>((chart, found))
        });
        let (chart, mut found) =
            read.await.map_err(|_| "reading it was broken off".to_owned()).flatten().map_err(refused)?;
        // helm takes a tenth of a second and more, which most charts need not cost whoever registers them.
        let not_rendered = if chart.may_render_crds || values_may(rendering) {
            self.rendered(archive, rendering, &mut found).await?
        } else {
            None
        };
        Ok(ChartContents {
            name: chart.name,
            version: chart.version,
            crds: found.into_values().collect(),
            not_rendered,
        })
    }

    /// Adds the definitions among the templates; why there are none where the chart cannot be rendered.
    async fn rendered(
        &self,
        archive: &Archive,
        rendering: Rendering<'_>,
        found: &mut BTreeMap<String, Value>,
    ) -> Result<Option<String>, ChartsError> {
        let unable = |error: &HelmError| ChartsError::Unable { reason: error.to_string() };
        let helm = self.helm().await.map_err(|error| unable(&error))?;
        let template = Template::of(&archive.bytes, rendering.release, rendering.namespace, rendering.values);
        match helm.template(template).await {
            Ok(text) => {
                let mut among = BTreeMap::new();
                let read = tokio::task::spawn_blocking(move || collect(&text, &mut among).map(|()| among));
                match read.await.map_err(|_| "reading it was broken off".to_owned()).flatten() {
                    Ok(among) => {
                        found.extend(among);
                        Ok(None)
                    }
                    Err(reason) => Ok(Some(format!("what it renders cannot be read: {reason}"))),
                }
            }
            Err(error @ (HelmError::Missing(_) | HelmError::Start { .. } | HelmError::Home(_))) => {
                Err(unable(&error))
            }
            // The chart's own fault: it wants values, or another Kubernetes.
            Err(error) => Ok(Some(error.to_string())),
        }
    }
}

/// Whether the values may make a template write a definition: some charts add whole objects from them.
fn values_may(rendering: Rendering<'_>) -> bool {
    serde_json::to_string(rendering.values).is_ok_and(|text| archive::mentions_crds(&text))
}

/// Adds the definitions of a text, by name. A document that claims to be one and is none is an error.
fn collect(text: &str, found: &mut BTreeMap<String, Value>) -> Result<(), String> {
    let limits = YamlLimits { document_bytes: 16 << 20, ..YamlLimits::default() };
    for document in read_with(text, &limits).map_err(|error| error.to_string())? {
        for value in items(document.value) {
            if value.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
                continue;
            }
            let crd = Crd::from_value(value).map_err(|error| error.to_string())?;
            found.insert(crd.name().to_owned(), crd.raw().clone());
        }
    }
    Ok(())
}

/// A list is as good as its items.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Object(mut fields) if fields.get("kind").and_then(Value::as_str) == Some("List") => {
            match fields.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    }
}
