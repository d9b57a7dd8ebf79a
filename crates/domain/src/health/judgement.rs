//! From what was seen to what it means.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Verdict;
use super::baseline::Baseline;
use super::episode::Check;
use super::memory::Memory;
use super::observation::{LogLine, Look, Observation, SmokeSeen};
use super::pods::{self, PodHealth};
use super::reconciliation::{self, ReconciliationHealth};
use super::rules::HealthRules;
use super::sentence::some;
use super::webhooks::{self, WebhookHealth};

/// What a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// The controllers' pods.
    Pods,
    /// Webhooks and conversions.
    Webhooks,
    /// The custom resources.
    Reconciliation,
    /// The smoke test.
    Smoke,
    /// A further rule of the profile.
    Rule,
}

/// How much a reason weighs, from little to much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Worth knowing; it changes nothing.
    Note,
    /// It could not be seen, so nothing good can be claimed.
    Unseen,
    /// Not well yet, and not for long: a pod that starts.
    Settling,
    /// Some work is not done.
    Degrading,
    /// It does not work.
    Failing,
}

/// One reason for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// What it is about.
    pub part: Part,
    /// How much it weighs.
    pub weight: Weight,
    /// Whether it was so at the baseline already.
    #[serde(default)]
    pub known: bool,
    /// A sentence for people.
    pub text: String,
}

impl Reason {
    pub(super) fn new(part: Part, weight: Weight, text: impl Into<String>) -> Self {
        Self { part, weight, known: false, text: text.into() }
    }

    pub(super) fn unseen(part: Part, text: String) -> Self {
        Self::new(part, Weight::Unseen, text)
    }

    pub(super) fn known(mut self, known: bool) -> Self {
        self.known = known;
        self
    }
}

/// How an operator is on a cluster, with the reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorHealth {
    /// In a word.
    pub verdict: Verdict,
    /// Why, the heaviest first.
    pub reasons: Vec<Reason>,
    /// The pods.
    pub pods: PodHealth,
    /// The webhooks.
    pub webhooks: WebhookHealth,
    /// The custom resources.
    pub reconciliation: ReconciliationHealth,
    /// The last smoke test.
    pub smoke: Option<SmokeSeen>,
    /// The last error lines of the controllers.
    pub logs: Vec<LogLine>,
    /// When it was looked at.
    pub checked_at: Timestamp,
    /// How long looking took.
    pub took: Duration,
}

impl OperatorHealth {
    /// What this check says about going on.
    pub fn check(&self) -> Check {
        check(self.verdict, self.reasons.iter())
    }

    /// The verdict when what was broken at the baseline does not count: what a change is judged by.
    pub fn beyond_baseline(&self) -> (Verdict, Check) {
        let fresh = || self.reasons.iter().filter(|reason| !reason.known);
        let verdict = verdict(fresh(), self.pods.expected > 0);
        (verdict, check(verdict, fresh()))
    }

    /// The sentence that matters most, for a line in a table.
    pub fn headline(&self) -> Option<&str> {
        self.reasons
            .iter()
            .find(|reason| reason.weight > Weight::Note || self.verdict == Verdict::Unknown)
            .map(|reason| reason.text.as_str())
    }
}

/// Judges what was seen. The memory is the one *after* this look.
pub fn judge(
    seen: &Observation,
    memory: &Memory,
    baseline: Option<&Baseline>,
    rules: &HealthRules,
    took: Duration,
) -> OperatorHealth {
    let limits = &rules.limits;
    let mut reasons = Vec::new();
    let view = pods::View { memory, baseline, limits, now: seen.at };
    let pods = pods::judge(&seen.workloads, &view, &mut reasons);
    let webhooks = webhooks::judge(seen, baseline, limits, &mut reasons);
    let reconciliation = reconciliation::judge(&seen.resources, baseline, limits, &mut reasons);
    let smoke = seen.smoke.clone().or_else(|| memory.smoke.clone()).filter(|_| rules.smoke.is_some());
    if let Some(SmokeSeen { object, failure: Some(failure), .. }) = &smoke {
        let known = baseline.is_some_and(|baseline| baseline.smoke_failed);
        let text = format!("the smoke test with {object} failed: {failure}");
        reasons.push(Reason::new(Part::Smoke, Weight::Failing, text).known(known));
    }
    for rule in &seen.rules {
        let known = baseline.is_some_and(|baseline| baseline.rules.contains(&rule.name));
        let reason = match &rule.broken {
            Look::Seen(broken) if broken.is_empty() => continue,
            Look::Seen(broken) => {
                let text = format!("{}: {}", rule.name, some(broken, broken.len()));
                Reason::new(Part::Rule, rule.weight, text).known(known)
            }
            Look::Unseen(why) => {
                Reason::unseen(Part::Rule, format!("{} could not be looked at: {why}", rule.name))
            }
        };
        reasons.push(reason);
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.weight));
    // Where nothing at all could be seen there is one cause, and it is said once.
    if let [first, rest @ ..] = reasons.as_slice()
        && rest.len() == 2
        && reasons.iter().all(|reason| reason.weight == Weight::Unseen)
        && cause(first).is_some_and(|one| rest.iter().all(|reason| cause(reason) == Some(one)))
    {
        let text = cause(first).unwrap_or_default().to_owned();
        reasons = vec![Reason::unseen(Part::Pods, text)];
    }
    OperatorHealth {
        verdict: verdict(reasons.iter(), pods.expected > 0),
        reasons,
        pods,
        webhooks,
        reconciliation,
        smoke,
        logs: seen.logs.clone(),
        checked_at: seen.at,
        took,
    }
}

fn cause(reason: &Reason) -> Option<&str> {
    reason.text.split_once("could not be looked at: ").map(|(_, cause)| cause)
}

/// The overall rule: pods, webhooks or smoke test bad, unhealthy; reconciliation bad, degraded; and healthy
/// only if there are pods that were seen to be well, and nothing that was looked for stayed unseen.
fn verdict<'a>(reasons: impl Iterator<Item = &'a Reason>, pods: bool) -> Verdict {
    match reasons.map(|reason| reason.weight).max().unwrap_or(Weight::Note) {
        Weight::Failing => Verdict::Unhealthy,
        Weight::Degrading | Weight::Settling => Verdict::Degraded,
        Weight::Note if pods => Verdict::Healthy,
        Weight::Unseen | Weight::Note => Verdict::Unknown,
    }
}

fn check<'a>(verdict: Verdict, reasons: impl Iterator<Item = &'a Reason>) -> Check {
    match verdict {
        Verdict::Healthy => Check::Passed,
        Verdict::Unknown => Check::Undecided,
        Verdict::Degraded | Verdict::Unhealthy => {
            match reasons.map(|reason| reason.weight).max() {
                // A pod may take its time to start; that is neither well nor a failure.
                Some(Weight::Settling) => Check::Undecided,
                _ => Check::Failed,
            }
        }
    }
}
