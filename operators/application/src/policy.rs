//! What is admitted: the rules of the webhooks, as functions of the Application.
//!
//! [`check`] says everything that is wrong at once, and what is unwise. [`defaults`] fills in what was left
//! out. Neither asks a cluster; what differs between clusters is in the [`Profile`].

mod defaults;
mod profile;
mod reference;
mod security;
mod validator;

pub use defaults::{WEBHOOK_MUTATED, defaults};
pub use profile::{Preset, Profile, ProfileError, Reaction};
pub use reference::{ImageReference, ReferenceError};

use crate::crd::Application;

/// What there is to say about an Application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why it is refused; it is admitted when there is nothing here.
    pub denials: Vec<Denial>,
    /// What is unwise.
    pub warnings: Vec<String>,
}

/// One reason to refuse an Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The field, such as `spec.image`.
    pub field: String,
    /// The rule, and what is there instead.
    pub message: String,
}

impl Findings {
    /// Whether the Application is admitted.
    pub fn admitted(&self) -> bool {
        self.denials.is_empty()
    }

    fn deny(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.denials.push(Denial { field: field.into(), message: message.into() });
    }

    fn react(&mut self, reaction: Reaction, field: &str, message: &str) {
        match reaction {
            Reaction::Off => {}
            Reaction::Warn => self.warnings.push(format!("{field}: {message}")),
            Reaction::Deny => self.deny(field, message),
        }
    }
}

/// Everything there is to say about an Application under a profile.
pub fn check(app: &Application, profile: &Profile) -> Findings {
    let mut findings = Findings::default();
    validator::check(app, profile, &mut findings);
    security::check(app, profile, &mut findings);
    findings
}

#[cfg(test)]
mod tests;
