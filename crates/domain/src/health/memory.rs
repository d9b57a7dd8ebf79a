//! What has to be remembered from one look to the next: Kubernetes says how often a container was started
//! again, and not when.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::certificate::between;
use super::limits::Limits;
use super::observation::{PodSeen, SmokeSeen, WorkloadSeen};

/// What is remembered of earlier looks. It stays small: what is gone or old is dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// By pod and container, how many restarts it had from when on.
    restarts: BTreeMap<String, Vec<(Timestamp, u32)>>,
    /// By workload, since when it has had fewer ready pods than it has to have.
    short_since: BTreeMap<String, Timestamp>,
    /// The last smoke test.
    pub smoke: Option<SmokeSeen>,
}

impl Memory {
    /// The memory after another look.
    #[must_use]
    pub fn after(&self, workloads: &[WorkloadSeen], now: Timestamp, limits: &Limits) -> Self {
        let mut next = Self { smoke: self.smoke.clone(), ..Self::default() };
        for workload in workloads {
            if workload.ready() < workload.expected {
                let title = workload.title();
                let since = self.short_since.get(&title).copied().unwrap_or(now).min(now);
                next.short_since.insert(title, since);
            }
            for pod in &workload.pods {
                for container in &pod.containers {
                    let key = key(pod, &container.name);
                    let mut counts = self.restarts.get(&key).cloned().unwrap_or_default();
                    if counts.last().is_none_or(|(_, count)| *count != container.restarts) {
                        counts.push((now, container.restarts));
                    }
                    let old = counts.partition_point(|(at, _)| between(*at, now) > limits.restart_window);
                    counts.drain(..old.saturating_sub(1));
                    next.restarts.insert(key, counts);
                }
            }
        }
        next
    }

    /// How often a container was started again within the window, what happened before its pod's start
    /// deadline aside.
    pub(super) fn restarts(&self, pod: &PodSeen, container: &str, now: Timestamp, limits: &Limits) -> u32 {
        let Some(counts) = self.restarts.get(&key(pod, container)) else { return 0 };
        let counted = |at: Timestamp| {
            between(at, now) <= limits.restart_window && between(pod.created, at) > limits.start_deadline
        };
        let first = counts.partition_point(|(at, _)| !counted(*at));
        match (counts.get(first.saturating_sub(1)), counts.last()) {
            (Some((_, base)), Some((_, last))) => last.saturating_sub(*base),
            _ => 0,
        }
    }

    /// Since when a workload has been short of ready pods.
    pub(super) fn short_since(&self, workload: &WorkloadSeen) -> Option<Timestamp> {
        self.short_since.get(&workload.title()).copied()
    }
}

fn key(pod: &PodSeen, container: &str) -> String {
    format!("{}/{container}", pod.uid)
}
