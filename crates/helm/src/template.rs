//! Rendering a chart without a cluster.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::HelmError;
use crate::home::Home;
use crate::program::Helm;
use crate::run::Run;

/// What is rendered, and how far it may go.
#[derive(Debug, Clone)]
pub struct Template<'a> {
    /// The packed chart.
    pub archive: &'a [u8],
    /// The name of the release that is pretended.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The values beside the chart's own.
    pub values: &'a Map<String, Value>,
    /// Whether what is in `crds/` is printed too, of the parts that the values switch on.
    pub include_crds: bool,
    /// The version of Kubernetes that is pretended; helm's own idea where nothing is said.
    pub kubernetes_version: Option<&'a str>,
    /// How long it may take.
    pub deadline: Duration,
    /// The most that it may print.
    pub most: usize,
}

impl<'a> Template<'a> {
    /// With the chart's own values and limits that every real chart keeps.
    pub fn of(
        archive: &'a [u8],
        release: &'a str,
        namespace: &'a str,
        values: &'a Map<String, Value>,
    ) -> Self {
        Self {
            archive,
            release,
            namespace,
            values,
            include_crds: false,
            kubernetes_version: None,
            deadline: Duration::from_mins(1),
            most: 32 * 1024 * 1024,
        }
    }
}

impl Helm {
    /// Renders a chart: the manifests as YAML. The chart reaches no cluster and no network.
    pub async fn template(&self, template: Template<'_>) -> Result<String, HelmError> {
        let home = Home::new()?;
        let archive = home.file("chart.tgz", template.archive)?;
        let values = home.file("values.json", &serde_json::to_vec(template.values).unwrap_or_default())?;
        let mut arguments: Vec<OsString> = vec!["template".into(), template.release.into(), archive.into()];
        arguments.extend(["--namespace".into(), template.namespace.into(), "--values".into(), values.into()]);
        // A schema may refer to other addresses, and helm would fetch them.
        arguments.push("--skip-schema-validation".into());
        if template.include_crds {
            arguments.push("--include-crds".into());
        }
        if let Some(version) = template.kubernetes_version {
            arguments.extend(["--kube-version".into(), version.into()]);
        }
        let run = Run {
            program: &self.program,
            guardian: &self.guardian,
            home: &home,
            arguments,
            doing: "rendering the chart",
            deadline: template.deadline,
            most: template.most,
        };
        Ok(String::from_utf8_lossy(&run.output().await?).into_owned())
    }
}
