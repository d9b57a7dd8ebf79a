//! How it was before: what was broken already does not count against a change.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::limits::Limits;
use super::memory::Memory;
use super::observation::{Look, Observation, WebhookAnswer};
use super::pods;
use super::webhooks;

/// What was broken at a certain time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// When it was taken.
    pub at: Timestamp,
    /// By workload, how many pods it was short of.
    #[serde(default)]
    pub shortages: BTreeMap<String, u32>,
    /// By workload, how many pods were crash-looping.
    #[serde(default)]
    pub crashing: BTreeMap<String, u32>,
    /// How often its pods had been started again, on average.
    #[serde(default)]
    pub average_restarts: f64,
    /// Webhooks and conversions that did not work.
    #[serde(default)]
    pub webhooks: BTreeSet<String>,
    /// By CRD, the uids of objects that were stale.
    #[serde(default)]
    pub stale: BTreeMap<String, BTreeSet<String>>,
    /// Further rules that did not hold.
    #[serde(default)]
    pub rules: BTreeSet<String>,
    /// Whether the smoke test failed.
    #[serde(default)]
    pub smoke_failed: bool,
}

impl Baseline {
    /// What is broken in an observation.
    pub fn of(seen: &Observation, memory: &Memory, limits: &Limits) -> Self {
        let mut baseline = Self {
            at: seen.at,
            shortages: BTreeMap::new(),
            crashing: BTreeMap::new(),
            average_restarts: 0.0,
            webhooks: BTreeSet::new(),
            stale: BTreeMap::new(),
            rules: seen
                .rules
                .iter()
                .filter(|rule| matches!(&rule.broken, Look::Seen(broken) if !broken.is_empty()))
                .map(|rule| rule.name.clone())
                .collect(),
            smoke_failed: seen.smoke.as_ref().is_some_and(|smoke| smoke.failure.is_some()),
        };
        if let Look::Seen(workloads) = &seen.workloads {
            baseline.average_restarts = pods::average_restarts(workloads);
            for workload in workloads {
                let short = workload.expected.saturating_sub(workload.ready());
                if short > 0 {
                    baseline.shortages.insert(workload.title(), short);
                }
                let crashing = pods::crashing(workload, memory, seen.at, limits).count();
                if crashing > 0 {
                    let crashing = u32::try_from(crashing).unwrap_or(u32::MAX);
                    baseline.crashing.insert(workload.title(), crashing);
                }
            }
        }
        if let Look::Seen(hooks) = &seen.webhooks {
            let bad = hooks.iter().filter(|hook| webhooks::is_bad(hook, seen.at, limits));
            baseline.webhooks.extend(bad.map(|hook| hook.name.clone()));
        }
        let failed =
            seen.conversions.iter().filter(|read| matches!(read.answer, WebhookAnswer::Failed { .. }));
        baseline.webhooks.extend(failed.map(|read| format!("{}/{}", read.crd, read.version)));
        if let Look::Seen(kinds) = &seen.resources {
            for tally in kinds {
                let stale: BTreeSet<String> = tally.stale_uids().map(str::to_owned).collect();
                if !stale.is_empty() {
                    baseline.stale.insert(tally.crd().to_owned(), stale);
                }
            }
        }
        baseline
    }

    pub(super) fn knows_stale(&self, crd: &str, uid: &str) -> bool {
        self.stale.get(crd).is_some_and(|uids| uids.contains(uid))
    }
}
