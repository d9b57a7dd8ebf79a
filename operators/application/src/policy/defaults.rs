//! What is filled in when it was left out.

use crate::crd::{Application, MANAGED_BY, MANAGER, Strategy};

/// The annotation that says that the defaults were filled in.
pub const WEBHOOK_MUTATED: &str = "elide.dev/webhook-mutated";

/// Fills in what was left out. What somebody wrote stays: a release's own `managed-by` belongs to it.
pub fn defaults(app: &mut Application) {
    app.spec.strategy.get_or_insert(Strategy::RollingUpdate);
    let labels = app.metadata.labels.get_or_insert_default();
    labels.entry(MANAGED_BY.to_owned()).or_insert_with(|| MANAGER.to_owned());
    let annotations = app.metadata.annotations.get_or_insert_default();
    annotations.insert(WEBHOOK_MUTATED.to_owned(), "true".to_owned());
}
