//! What can be set about rollouts: policies, rules about approvals, time windows, and values.
//!
//! Each is read from a document's `spec` with everything wrong said at once, and written back so that
//! reading it again gives the same: what was left out stays left out.

pub mod approval_rule;
pub mod policy;
pub mod scope;
pub mod values;
pub mod window;

use serde_json::Value;

use crate::document::Kind;
use crate::problem::Problems;

pub use approval_rule::ApprovalRule;
pub use policy::Policy;
pub use scope::Scope;
pub use values::Values;
pub use window::Window;

/// A setting of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// What is tolerated.
    Policy(Policy),
    /// Who has to agree to what.
    ApprovalRule(ApprovalRule),
    /// When something may be rolled out.
    Window(Window),
    /// What charts get in an environment or on a cluster.
    Values(Values),
}

impl Setting {
    /// The kinds of documents that are settings.
    pub const KINDS: [Kind; 4] = [Kind::Policy, Kind::ApprovalRule, Kind::Window, Kind::Values];

    /// Reads the `spec` of a kind; nothing where the kind is no setting.
    pub fn read(kind: Kind, spec: &Value) -> Option<Result<Self, Problems>> {
        match kind {
            Kind::Policy => Some(Policy::read(spec).map(Self::Policy)),
            Kind::ApprovalRule => Some(ApprovalRule::read(spec).map(Self::ApprovalRule)),
            Kind::Window => Some(Window::read(spec).map(Self::Window)),
            Kind::Values => Some(Values::read(spec).map(Self::Values)),
            _ => None,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Policy(_) => Kind::Policy,
            Self::ApprovalRule(_) => Kind::ApprovalRule,
            Self::Window(_) => Kind::Window,
            Self::Values(_) => Kind::Values,
        }
    }

    /// The `spec` of its document.
    pub fn spec(&self) -> Value {
        // Plain data with keys that are text: writing it as JSON cannot fail.
        match self {
            Self::Policy(policy) => serde_json::to_value(policy),
            Self::ApprovalRule(rule) => serde_json::to_value(rule),
            Self::Window(window) => serde_json::to_value(window),
            Self::Values(values) => serde_json::to_value(values),
        }
        .unwrap_or_default()
    }
}
