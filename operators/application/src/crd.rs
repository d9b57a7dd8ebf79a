//! The kind `Application`: its two versions, and the definition that an API server is given.
//!
//! [`v1`] is what is stored and reconciled. [`v1beta1`] is served beside it, in another shape, and
//! [`crate::conversion`] goes between the two. Nothing here talks to a cluster.

mod definition;
mod resources;
mod status;
pub mod v1;
pub mod v1beta1;

use serde_json::{Value, json};

pub use definition::{CONVERSION_PATH, definition};
pub use resources::{Amounts, Resources};
pub use status::{ApplicationStatus, Phase};
pub use v1::{Application, ApplicationSpec, PORT, PortError, Strategy};

/// The API group of the kind.
pub const GROUP: &str = "cloudnative.elide.dev";

/// Who manages the objects, as `app.kubernetes.io/managed-by` says it.
pub const MANAGER: &str = "elide-operator";

/// The label that says who manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// A CEL rule as it stands in a schema, with what is said when it does not hold.
fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}
