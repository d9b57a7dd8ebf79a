//! Admission and conversion webhooks, with certificates that renew themselves.
//!
//! An author implements [`Validate`] and [`Mutate`] for a type, describes [`Conversions`] between
//! versions, gathers them in a [`WebhookSet`], and a [`WebhookServer`] serves them to API servers
//! under `/validate`, `/mutate` and `/convert`. [`Certificates`] says where the certificate comes
//! from; [`Injection`] keeps the bundle that API servers verify it with in place.
//!
//! What is answered when it is not for an author to say:
//! - All matching validators are asked, and all their denials reported together. Mutators run in
//!   order, each on the result of the one before, and one patch comes out.
//! - A request that no registration matches is refused with 400: whoever sends it has rules that
//!   differ from ours, and allowing it would hide that a rule is not enforced.
//! - An object that cannot be decoded is refused by validators, naming the field, and passed untouched
//!   by mutators. An object on its way out is not refused for that.
//! - Validators are not asked about an object that is being deleted and changes in its metadata only:
//!   a rule that is tightened must not keep finalizers from being taken off.
//! - A panic is a 500 and a timeout a 504, so that the registration's failure policy decides.
//!
//! Permissions: with [`SelfSigned`], `get`, `update` and `create` on its Secret; with [`Injection`],
//! `get`, `list`, `watch` and `patch` on each registration by name. What is missing is told as the
//! rule to add ([`RunningWebhooks::problems`]), and the rest goes on.
//!
//! Every replica serves, leader or not, so nothing here asks who leads, and the client it is given
//! must not be fenced by leadership. Webhooks judge and change what passes by; they write nothing
//! but their own Secret, their own registrations and the bundles in them.

mod admission;
pub mod certificates;
mod configuration;
mod conversion;
mod decode;
mod error;
mod injection;
mod observer;
mod patch;
mod problems;
mod registration;
mod review;
mod rules;
mod server;
mod set;
mod verdict;

pub use certificates::{Certificates, Files, Fixed, Schedule, SelfSigned};
pub use configuration::{Configurations, Target};
pub use conversion::Conversions;
pub use error::WebhookError;
pub use injection::Injection;
pub use observer::WebhookObserver;
pub use registration::{Mutate, Registration, Reviewed, Validate};
pub use review::{Operation, Review, User};
pub use rules::{Rules, Scope};
pub use server::{Limits, RunningWebhooks, WebhookOptions, WebhookReadiness, WebhookServer};
pub use set::WebhookSet;
pub use verdict::{Denial, Verdict};
