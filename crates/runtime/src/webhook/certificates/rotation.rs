//! When to do what with an authority: decisions only, no clock and no cluster.
//!
//! A new authority is trusted before it signs, and an old one stays trusted until nothing it signed
//! can still be shown. So whoever verifies a certificate with a bundle that was published at any
//! time within the last `visible_after` succeeds, whichever replica answers.

use std::time::Duration;

use jiff::Timestamp;
use x509_parser::parse_x509_certificate;

use crate::webhook::error::WebhookError;

/// From when to when a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Validity {
    /// As the certificate says.
    pub(crate) fn of(der: &[u8]) -> Result<Self, String> {
        let (_, certificate) = parse_x509_certificate(der).map_err(|error| error.to_string())?;
        let validity = certificate.validity();
        let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| error.to_string());
        Ok(Self {
            from: moment(validity.not_before.timestamp())?,
            until: moment(validity.not_after.timestamp())?,
        })
    }

    pub(crate) fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    /// After two thirds of its life, a certificate is replaced.
    pub(crate) fn due(&self) -> Timestamp {
        let life = self.until.duration_since(self.from).unsigned_abs();
        later(self.from, life * 2 / 3)
    }
}

/// How long certificates live, and how patient their rotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// How long an authority lives; it is replaced after two thirds of that. A year by default.
    pub authority: Duration,
    /// How long a server's certificate lives; it is replaced after two thirds of that. 30 days by default.
    pub leaf: Duration,
    /// How long every API server may take to see a bundle after it was written. Five minutes by default.
    pub visible_after: Duration,
    /// How often replicas look at the Secret. Ten seconds by default.
    pub look_every: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            authority: Duration::from_hours(365 * 24),
            leaf: Duration::from_hours(30 * 24),
            visible_after: Duration::from_mins(5),
            look_every: Duration::from_secs(10),
        }
    }
}

impl Schedule {
    /// An old authority must be gone before the next one is due, and a new one trusted before the old one ends.
    pub(crate) fn check(&self) -> Result<(), WebhookError> {
        if self.leaf + self.visible_after * 2 > self.authority / 2 {
            return Err(WebhookError::Schedule(format!(
                "an authority that lives {:?} is too short-lived for certificates that live {:?} and bundles that \
                 take {:?} to be seen; let it live at least twice as long as a certificate and two bundles together",
                self.authority, self.leaf, self.visible_after
            )));
        }
        if self.leaf.is_zero() || self.look_every.is_zero() {
            return Err(WebhookError::Schedule("no time in it may be zero but that of visibility".into()));
        }
        Ok(())
    }
}

/// Which authorities there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// The one that signs.
    pub(crate) current: Validity,
    /// The one that will sign.
    pub(crate) next: Option<Next>,
    /// The one that signed before.
    pub(crate) previous: Option<Previous>,
}

/// An authority that is being made known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Since when every registration carries it.
    pub(crate) announced: Option<Timestamp>,
}

/// An authority whose last certificates are running out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Previous {
    pub(crate) validity: Validity,
    /// When it stopped signing.
    pub(crate) replaced: Timestamp,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Wait,
    /// Make the next authority, and publish it beside the current one.
    Begin,
    /// Note that it is published everywhere.
    Announce,
    /// Note that it is not, after all: somebody put an old bundle back.
    Withdraw,
    /// Let the next authority sign, and keep trusting the one before.
    Promote,
    /// Stop trusting the one before.
    Retire,
}

/// The step to take, given whether every registration carries the bundle of this state.
pub(crate) fn step(state: &State, schedule: &Schedule, published: bool, now: Timestamp) -> Step {
    if let Some(previous) = &state.previous {
        let last_leaf_gone = later(previous.replaced, schedule.leaf + schedule.visible_after);
        if now >= last_leaf_gone || now >= previous.validity.until {
            return Step::Retire;
        }
    }
    match &state.next {
        None if state.previous.is_none() && now >= state.current.due() => Step::Begin,
        // Nothing that an ended authority signed is accepted any more: there is nothing to wait for.
        Some(_) if now >= state.current.until => Step::Promote,
        Some(Next { announced: None }) if published => Step::Announce,
        Some(Next { announced: Some(_) }) if !published => Step::Withdraw,
        Some(Next { announced: Some(since) }) if now >= later(*since, schedule.visible_after) => {
            Step::Promote
        }
        _ => Step::Wait,
    }
}

/// A moment, or the end of time if there is none so late.
pub(crate) fn later(moment: Timestamp, by: Duration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
