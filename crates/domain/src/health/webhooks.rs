//! What webhooks and conversions say.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Verdict;
use super::baseline::Baseline;
use super::certificate::{CertificateState, between};
use super::judgement::{Part, Reason, Weight};
use super::limits::Limits;
use super::observation::{ConversionSeen, Look, Observation, WebhookAnswer, WebhookSeen};
use super::sentence::{short, span};

/// How the webhooks are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookHealth {
    /// What is said of them.
    pub verdict: Verdict,
    /// Each admission webhook.
    pub webhooks: Vec<WebhookSeen>,
    /// Each read at another version than the stored one.
    pub conversions: Vec<ConversionSeen>,
}

impl WebhookHealth {
    /// Whether there is anything to call.
    pub fn any(&self) -> bool {
        !self.webhooks.is_empty() || !self.conversions.is_empty()
    }

    /// Whether all that were asked answered; nothing if none was asked.
    pub fn reachable(&self) -> Option<bool> {
        let answers = self.webhooks.iter().map(|hook| &hook.answer);
        let answers = answers.chain(self.conversions.iter().map(|read| &read.answer));
        answers.fold(None, |all, answer| match answer {
            WebhookAnswer::Answered => Some(all.unwrap_or(true)),
            WebhookAnswer::Failed { .. } => Some(false),
            WebhookAnswer::NotAsked { .. } => all,
        })
    }

    /// The longest that one took.
    pub fn latency(&self) -> Option<Duration> {
        self.webhooks.iter().filter_map(|hook| hook.latency).max()
    }

    /// When the first certificate ends.
    pub fn certificate_expires_at(&self) -> Option<Timestamp> {
        let certificates = self.webhooks.iter().filter_map(|hook| hook.certificate.as_ref());
        certificates.map(|certificate| certificate.not_after).min()
    }
}

pub(super) fn judge(
    seen: &Observation,
    baseline: Option<&Baseline>,
    limits: &Limits,
    reasons: &mut Vec<Reason>,
) -> WebhookHealth {
    let before = reasons.len();
    let mut health = WebhookHealth { conversions: seen.conversions.clone(), ..WebhookHealth::default() };
    match &seen.webhooks {
        Look::Seen(webhooks) => health.webhooks.clone_from(webhooks),
        Look::Unseen(why) => reasons
            .push(Reason::unseen(Part::Webhooks, format!("its webhooks could not be looked at: {why}"))),
    }
    for hook in &health.webhooks {
        let known = baseline.is_some_and(|baseline| baseline.webhooks.contains(&hook.name));
        reasons.extend(ailments(hook, seen.at, limits).map(|reason| reason.known(known)));
        if let WebhookAnswer::NotAsked { why } = &hook.answer {
            let text = format!("webhook \"{}\" was not asked: {why}", hook.name);
            reasons.push(Reason::new(Part::Webhooks, Weight::Note, text));
        }
    }
    for read in &health.conversions {
        let known = baseline
            .is_some_and(|baseline| baseline.webhooks.contains(&format!("{}/{}", read.crd, read.version)));
        match &read.answer {
            WebhookAnswer::Answered => {}
            WebhookAnswer::Failed { message } => {
                let text =
                    format!("{} cannot be read as {}: {}", read.crd, read.version, short(message, 300));
                reasons.push(Reason::new(Part::Webhooks, Weight::Failing, text).known(known));
            }
            WebhookAnswer::NotAsked { why } => {
                let text = format!("the conversion of {} to {} was not asked: {why}", read.crd, read.version);
                reasons.push(Reason::new(Part::Webhooks, Weight::Note, text));
            }
        }
    }
    health.verdict = match reasons[before..].iter().map(|reason| reason.weight).max() {
        Some(Weight::Failing) => Verdict::Unhealthy,
        Some(Weight::Degrading | Weight::Settling) => Verdict::Degraded,
        Some(Weight::Unseen) => Verdict::Unknown,
        _ if health.reachable() == Some(true) => Verdict::Healthy,
        _ => Verdict::Unknown,
    };
    health
}

/// Whether a webhook is not as it has to be.
pub(super) fn is_bad(hook: &WebhookSeen, now: Timestamp, limits: &Limits) -> bool {
    ailments(hook, now, limits).next().is_some()
}

fn ailments(hook: &WebhookSeen, now: Timestamp, limits: &Limits) -> impl Iterator<Item = Reason> {
    let name = &hook.name;
    let failed = match &hook.answer {
        WebhookAnswer::Failed { message } => {
            let weight = if hook.fails_closed { Weight::Failing } else { Weight::Degrading };
            let text = format!("webhook \"{name}\" cannot be called: {}", short(message, 300));
            Some(Reason::new(Part::Webhooks, weight, text))
        }
        WebhookAnswer::Answered | WebhookAnswer::NotAsked { .. } => None,
    };
    let slow = hook.latency.filter(|latency| *latency >= limits.webhook_latency).map(|latency| {
        let text = format!(
            "webhook \"{name}\" took {} ms; {} ms is too slow",
            latency.as_millis(),
            limits.webhook_latency.as_millis()
        );
        Reason::new(Part::Webhooks, Weight::Failing, text)
    });
    let certificate = hook.certificate.as_ref().and_then(|certificate| {
        let words = match certificate.state(now, limits) {
            CertificateState::Good => return None,
            CertificateState::Early => {
                format!("counts only in {}", span(between(now, certificate.not_before)))
            }
            CertificateState::Ending => {
                format!("ends in {} and was not renewed", span(between(now, certificate.not_after)))
            }
            CertificateState::Expired => {
                format!("expired {} ago", span(between(certificate.not_after, now)))
            }
        };
        let text = format!("webhook \"{name}\": {} {words}", certificate.of);
        Some(Reason::new(Part::Webhooks, Weight::Failing, text))
    });
    [failed, slow, certificate].into_iter().flatten()
}
