//! All webhooks of an operator.

use super::conversion::Conversions;
use super::registration::{Handler, Mutate, Registration, Reviewed, Unchanged, Validate};
use super::rules::Subject;

/// The validators, mutators and conversions that one operator serves.
#[derive(Debug, Default)]
#[must_use]
pub struct WebhookSet {
    pub(crate) registrations: Vec<Registration>,
    pub(crate) conversions: Vec<Conversions>,
}

/// Which of the two admission paths a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    Validate,
    Mutate,
}

impl WebhookSet {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Validates creations and changes of `K`.
    pub fn validate<K: Reviewed>(self, name: impl Into<String>, validator: impl Validate<K>) -> Self {
        self.register(Registration::validating(name, validator))
    }

    /// Mutates what is created or changed of `K`. Mutators run in the order they are added, each on
    /// the result of the one before.
    pub fn mutate<K: Reviewed>(self, name: impl Into<String>, mutator: impl Mutate<K>) -> Self {
        self.register(Registration::mutating(name, mutator))
    }

    /// Gives every created `K` a finalizer and changes nothing else.
    pub fn finalizer<K: Reviewed>(self, name: impl Into<String>, finalizer: impl Into<String>) -> Self {
        let registration = Registration::mutating::<K>(name, Unchanged).with_finalizer(finalizer);
        self.register(registration.operations([super::review::Operation::Create]))
    }

    /// Adds a registration with settings of its own.
    pub fn register(mut self, registration: Registration) -> Self {
        self.registrations.push(registration);
        self
    }

    /// Converts between the versions of a kind.
    pub fn convert(mut self, conversions: Conversions) -> Self {
        self.conversions.push(conversions);
        self
    }

    /// Whether there is nothing to serve.
    pub fn is_empty(&self) -> bool {
        self.registrations.is_empty() && self.conversions.is_empty()
    }

    pub(crate) fn on(&self, path: Path) -> impl Iterator<Item = &Registration> {
        self.registrations.iter().filter(move |registration| {
            matches!(
                (&registration.handler, path),
                (Handler::Validating(_), Path::Validate) | (Handler::Mutating(_), Path::Mutate)
            )
        })
    }

    pub(crate) fn matching<'a>(
        &'a self,
        path: Path,
        subject: Subject<'a>,
    ) -> impl Iterator<Item = &'a Registration> {
        self.on(path).filter(move |registration| registration.rules.matches(subject))
    }
}
