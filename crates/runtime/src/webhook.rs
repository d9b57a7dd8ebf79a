//! Admission and conversion webhooks, with certificates that renew themselves.
//!
//! An author implements [`Validate`] and [`Mutate`] for a type, describes [`Conversions`] between
//! versions, gathers them in a [`WebhookSet`], and a [`WebhookServer`] serves them to API servers
//! under `/validate`, `/mutate` and `/convert`. [`Certificates`] says where the certificate comes
//! from; [`Injection`] keeps the bundle that API servers verify it with in place.
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
