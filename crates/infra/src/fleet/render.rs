//! What a chart makes on one cluster, rendered against it as it is: lookups, capabilities and the revision are
//! live. What is rendered here is judged by preflight and applied by the release, and nothing else is.

use serde_json::{Map, Value};
use slipway_orchestrator::ports::fleet::Subject;

use super::fault::Fault;
use super::site::Site;

/// What a chart makes on one cluster.
pub(crate) struct Rendered {
    /// The objects that helm will apply, without hooks and CRDs, in the order of the chart.
    pub(crate) manifests: Vec<Manifest>,
    /// The hooks, tests included.
    pub(crate) hooks: Vec<Manifest>,
    /// The CRDs, from `crds/` and from templates. helm never gets them.
    pub(crate) crds: Vec<RenderedCrd>,
    /// What the chart tells people.
    pub(crate) notes: Option<String>,
    /// The values that it was rendered with, secrets filled in: for checking, never for showing or keeping.
    pub(crate) values: Map<String, Value>,
    /// The same with references in place of secrets: what helm keeps.
    pub(crate) given: Map<String, Value>,
    /// Of all of it, without what differs from one rendering to the next (random values, the revision): the
    /// digest of the plan. A preflight has exactly this one.
    pub(crate) digest: String,
}

/// One object.
#[derive(Clone)]
pub(crate) struct Manifest {
    /// The template it comes from, such as `greeter/templates/deployment.yaml`.
    pub(crate) source: String,
    /// As it goes to helm.
    pub(crate) text: String,
    /// The same, read.
    pub(crate) value: Value,
}

/// A CRD of a chart.
#[derive(Clone)]
pub(crate) struct RenderedCrd {
    /// Where the chart has it.
    pub(crate) origin: CrdOrigin,
    /// The definition, `caBundle`s as the chart has them.
    pub(crate) value: Value,
}

/// Where a chart has a CRD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrdOrigin {
    /// In a folder `crds/`.
    Folder,
    /// Among its templates.
    Template,
}

/// Renders the chart of a subject for its cluster, with the values of all its layers.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(crate) async fn render(_site: &Site, _subject: &Subject) -> Result<Rendered, Fault> {
    Err(Fault::Hiccup("charts cannot be rendered here yet".to_owned()))
}
