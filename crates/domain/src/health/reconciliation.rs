//! What custom resources say about the controllers that look after them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Verdict;
use super::baseline::Baseline;
use super::judgement::{Part, Reason, Weight};
use super::limits::Limits;
use super::observation::Look;
use super::sentence::{count, some};
use super::tally::{Ailment, Sick, Tally};

/// How the custom resources are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReconciliationHealth {
    /// What is said of them.
    pub verdict: Verdict,
    /// How many there are.
    pub objects: u64,
    /// How many are on their way.
    pub in_work: u64,
    /// How many ail for too long, those of the baseline aside.
    pub stale: u64,
    /// Their share of all.
    pub error_rate: f64,
    /// When a controller last wrote to one.
    pub last_change: Option<Timestamp>,
    /// Kind by kind.
    pub kinds: Vec<KindHealth>,
}

/// How the objects of one kind are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KindHealth {
    /// The CRD.
    pub crd: String,
    /// The kind.
    pub kind: String,
    /// How many there are.
    pub objects: u64,
    /// How many ail for too long, those of the baseline aside.
    pub stale: u64,
    /// How many ailed at the baseline already.
    pub known: u64,
    /// Some that ail, each with what ails it.
    pub examples: Vec<String>,
}

/// So many examples are kept of each kind.
const EXAMPLES: usize = 5;

pub(super) fn judge(
    seen: &Look<Vec<Tally>>,
    baseline: Option<&Baseline>,
    limits: &Limits,
    reasons: &mut Vec<Reason>,
) -> ReconciliationHealth {
    let kinds = match seen {
        Look::Seen(kinds) => kinds,
        Look::Unseen(why) => {
            let text = format!("its custom resources could not be looked at: {why}");
            reasons.push(Reason::unseen(Part::Reconciliation, text));
            return ReconciliationHealth::default();
        }
    };
    let before = reasons.len();
    let mut health = ReconciliationHealth::default();
    for tally in kinds {
        health.objects += tally.objects;
        health.in_work += tally.in_work;
        health.last_change = health.last_change.max(tally.last_change);
        let kind = judge_kind(tally, baseline, limits, reasons);
        health.stale += kind.stale;
        health.kinds.push(kind);
    }
    health.error_rate = share(health.stale, health.objects);
    health.verdict = match reasons[before..].iter().map(|reason| reason.weight).max() {
        Some(Weight::Failing | Weight::Degrading) => Verdict::Degraded,
        _ if kinds.iter().any(|tally| tally.speaking > 0) => Verdict::Healthy,
        _ => Verdict::Unknown,
    };
    health
}

fn judge_kind(
    tally: &Tally,
    baseline: Option<&Baseline>,
    limits: &Limits,
    reasons: &mut Vec<Reason>,
) -> KindHealth {
    let is_known =
        |sick: &&Sick| baseline.is_some_and(|baseline| baseline.knows_stale(tally.crd(), &sick.uid));
    let (known, fresh): (Vec<&Sick>, Vec<&Sick>) = tally.sick().partition(is_known);
    let (lagging, unwell): (Vec<&Sick>, Vec<&Sick>) =
        fresh.iter().copied().partition(|sick| sick.ailment == Ailment::Lagging);
    // An object that its controller does not look at is the controller's fault, whichever it is. One that
    // is not Ready may be its author's; many of them are not.
    if !lagging.is_empty() {
        let text = format!(
            "{} of kind {} lag behind for over {} minutes: {}",
            count(lagging.len() as u64, "object"),
            tally.kind(),
            limits.stale_after.as_secs() / 60,
            named(&lagging)
        );
        reasons.push(Reason::new(Part::Reconciliation, Weight::Degrading, text));
    }
    if !unwell.is_empty() {
        let part = share(unwell.len() as u64, tally.objects);
        let weight = if part >= limits.error_rate { Weight::Degrading } else { Weight::Note };
        let text = format!(
            "{} of {} of kind {} ({:.0} %) are not Ready for over {} minutes: {}",
            unwell.len(),
            count(tally.objects, "object"),
            tally.kind(),
            (part * 100.0).ceil(),
            limits.stale_after.as_secs() / 60,
            named(&unwell)
        );
        reasons.push(Reason::new(Part::Reconciliation, weight, text));
    }
    if tally.leaving > 0 {
        let text = format!(
            "{} of kind {} wait for over {} minutes to be deleted",
            count(tally.leaving, "object"),
            tally.kind(),
            limits.stale_after.as_secs() / 60
        );
        reasons.push(Reason::new(Part::Reconciliation, Weight::Note, text));
    }
    let words = fresh.iter().filter(|sick| !sick.words.is_empty()).take(EXAMPLES);
    KindHealth {
        crd: tally.crd().to_owned(),
        kind: tally.kind().to_owned(),
        objects: tally.objects,
        stale: fresh.len() as u64,
        known: known.len() as u64,
        examples: words.map(|sick| sick.words.clone()).collect(),
    }
}

fn named(sick: &[&Sick]) -> String {
    let names: Vec<String> = sick.iter().take(3).map(|sick| sick.name.clone()).collect();
    some(&names, sick.len())
}

#[allow(clippy::cast_precision_loss, reason = "a share for people needs no 53 bits")]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}
