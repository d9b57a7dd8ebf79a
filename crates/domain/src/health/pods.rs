//! What pods say.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Verdict;
use super::baseline::Baseline;
use super::certificate::between;
use super::judgement::{Part, Reason, Weight};
use super::limits::Limits;
use super::memory::Memory;
use super::observation::{ContainerSeen, Look, PodSeen, WorkloadSeen};
use super::sentence::{count, short, span};

/// How the controllers' pods are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodHealth {
    /// What is said of them.
    pub verdict: Verdict,
    /// How many are ready.
    pub ready: u32,
    /// How many have to be.
    pub expected: u32,
    /// How many crash again and again.
    pub crash_looping: u32,
    /// How often they were started again since they are there, on average.
    pub average_restarts: f64,
    /// The highest share of its processor limit that a container uses, in percent.
    pub cpu_percent: Option<f64>,
    /// The highest share of its memory limit that a container uses, in percent.
    pub memory_percent: Option<f64>,
}

/// Where pods are looked at from.
pub(super) struct View<'a> {
    pub(super) memory: &'a Memory,
    pub(super) baseline: Option<&'a Baseline>,
    pub(super) limits: &'a Limits,
    pub(super) now: Timestamp,
}

pub(super) fn judge(seen: &Look<Vec<WorkloadSeen>>, view: &View<'_>, reasons: &mut Vec<Reason>) -> PodHealth {
    let workloads = match seen {
        Look::Seen(workloads) => workloads,
        Look::Unseen(why) => {
            reasons.push(Reason::unseen(Part::Pods, format!("its pods could not be looked at: {why}")));
            return PodHealth::default();
        }
    };
    let before = reasons.len();
    let mut health = PodHealth { average_restarts: average_restarts(workloads), ..PodHealth::default() };
    for workload in workloads {
        health.ready += workload.ready().min(workload.expected);
        health.expected += workload.expected;
        judge_workload(workload, view, &mut health, reasons);
    }
    judge_restarts(&health, view, reasons);
    health.verdict = match reasons[before..].iter().map(|reason| reason.weight).max() {
        Some(Weight::Failing) => Verdict::Unhealthy,
        Some(Weight::Degrading | Weight::Settling) => Verdict::Degraded,
        _ if health.expected == 0 => Verdict::Unknown,
        _ => Verdict::Healthy,
    };
    if health.expected == 0 && health.verdict == Verdict::Unknown {
        let why = if workloads.is_empty() {
            "its release has no workload whose pods could be looked at"
        } else {
            "its workloads are scaled to zero"
        };
        reasons.push(Reason::new(Part::Pods, Weight::Note, why));
    }
    health
}

fn judge_workload(
    workload: &WorkloadSeen,
    view: &View<'_>,
    health: &mut PodHealth,
    reasons: &mut Vec<Reason>,
) {
    let title = workload.title();
    if !workload.exists {
        reasons.push(Reason::new(
            Part::Pods,
            Weight::Failing,
            format!("{title} of its release is not there"),
        ));
        return;
    }
    let known = |before: Option<&u32>, now: u32| before.is_some_and(|before| *before >= now);
    let crashing: Vec<(&PodSeen, String)> = crashing(workload, view.memory, view.now, view.limits).collect();
    let crash_count = u32::try_from(crashing.len()).unwrap_or(u32::MAX);
    health.crash_looping += crash_count;
    let was_crashing = view.baseline.and_then(|baseline| baseline.crashing.get(&title));
    for (pod, words) in &crashing {
        reasons.push(
            Reason::new(Part::Pods, Weight::Failing, format!("pod {}: {words}", pod.name))
                .known(known(was_crashing, crash_count)),
        );
    }
    let shortage = workload.expected.saturating_sub(workload.ready());
    if shortage > 0 {
        let was_short = view.baseline.and_then(|baseline| baseline.shortages.get(&title));
        reasons.push(short_of_pods(workload, &crashing, view).known(known(was_short, shortage)));
    }
    for pod in &workload.pods {
        for container in &pod.containers {
            judge_usage(pod, container, health, reasons);
        }
    }
}

/// Why a workload has fewer ready pods than it has to have, and whether that may still come right.
fn short_of_pods(workload: &WorkloadSeen, crashing: &[(&PodSeen, String)], view: &View<'_>) -> Reason {
    let deadline = view.limits.start_deadline;
    let mut text =
        format!("{} has {} of {} pods ready", workload.title(), workload.ready(), workload.expected);
    let is_crashing = |pod: &PodSeen| crashing.iter().any(|(other, _)| other.uid == pod.uid);
    let unready: Vec<&PodSeen> = workload.pods.iter().filter(|pod| !pod.ready).collect();
    let since = view.memory.short_since(workload).unwrap_or(view.now);
    // Pods that are made anew again and again are always young; what counts then is how long it lasts.
    let settling = between(since, view.now) < deadline
        && unready.iter().all(|pod| between(pod.created, view.now) < deadline && !is_crashing(pod));
    if let Some(pod) = unready.iter().find(|pod| !is_crashing(pod)) {
        let _ = write!(text, "; {} {}", pod.name, waiting_for(pod, view.now));
    } else if workload.pods.len() < workload.expected as usize {
        let _ = write!(text, "; it has {} at all", count(workload.pods.len() as u64, "pod"));
    }
    if settling {
        text.push_str(", and is starting");
    }
    Reason::new(Part::Pods, if settling { Weight::Settling } else { Weight::Failing }, text)
}

fn waiting_for(pod: &PodSeen, now: Timestamp) -> String {
    let waiting = pod.containers.iter().find_map(|container| container.waiting.as_ref());
    let age = span(between(pod.created, now));
    match (waiting, &pod.trouble) {
        (Some(waiting), _) => {
            let message = waiting.message.as_deref().map(|text| format!(" ({})", short(text, 200)));
            format!("waits: {}{}", waiting.reason, message.unwrap_or_default())
        }
        (None, Some(trouble)) => format!("is {}: {}", pod.phase, short(trouble, 200)),
        (None, None) => format!("is {} and not ready, {age} old", pod.phase),
    }
}

/// The pods of a workload that crash again and again, each with the words for it.
pub(super) fn crashing<'a>(
    workload: &'a WorkloadSeen,
    memory: &'a Memory,
    now: Timestamp,
    limits: &'a Limits,
) -> impl Iterator<Item = (&'a PodSeen, String)> {
    workload.pods.iter().filter_map(move |pod| {
        if between(pod.created, now) < limits.start_deadline {
            return None;
        }
        pod.containers.iter().find_map(|container| {
            let looping =
                container.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
            let restarts = memory.restarts(pod, &container.name, now, limits);
            if !looping && restarts < limits.restarts {
                return None;
            }
            let mut words = if looping {
                format!(
                    "container {} is in CrashLoopBackOff after {}",
                    container.name,
                    count(container.restarts.into(), "restart")
                )
            } else {
                format!(
                    "container {} was started again {restarts} times within {}",
                    container.name,
                    span(limits.restart_window)
                )
            };
            if let Some(exit) = &container.last_exit {
                let _ = write!(words, " (last end: {}, code {})", exit.reason, exit.code);
            }
            Some((pod, words))
        })
    })
}

/// Restarts over the whole life of a pod are judged against the baseline only: a pod that is a year old may
/// have had its share.
fn judge_restarts(health: &PodHealth, view: &View<'_>, reasons: &mut Vec<Reason>) {
    let Some(baseline) = view.baseline else { return };
    let more = health.average_restarts - baseline.average_restarts;
    if more >= view.limits.average_restarts {
        let text = format!(
            "its pods were started again {:.0} times on average, {more:.0} more than at the baseline",
            health.average_restarts
        );
        reasons.push(Reason::new(Part::Pods, Weight::Failing, text));
    }
}

#[allow(clippy::cast_precision_loss, reason = "a percentage for people needs no 53 bits")]
fn judge_usage(pod: &PodSeen, container: &ContainerSeen, health: &mut PodHealth, reasons: &mut Vec<Reason>) {
    let Some(usage) = container.usage else { return };
    for (what, used, limit, highest) in [
        ("processor", usage.cpu_millis, container.limit.cpu_millis, &mut health.cpu_percent),
        ("memory", usage.memory_bytes, container.limit.memory_bytes, &mut health.memory_percent),
    ] {
        let (Some(used), Some(limit)) = (used, limit.filter(|limit| *limit > 0)) else { continue };
        let percent = used as f64 * 100.0 / limit as f64;
        *highest = Some(highest.unwrap_or(0.0).max(percent));
        // Four fifths is where the strategies' guide draws a line; only the limit itself is a failure.
        let weight = match percent {
            _ if percent > 100.0 => Weight::Degrading,
            _ if percent > 80.0 => Weight::Note,
            _ => continue,
        };
        let text =
            format!("pod {}: container {} uses {percent:.0} % of its {what} limit", pod.name, container.name);
        reasons.push(Reason::new(Part::Pods, weight, text));
    }
}

/// How often pods were started again, on average.
pub(super) fn average_restarts(workloads: &[WorkloadSeen]) -> f64 {
    let pods = || workloads.iter().flat_map(|workload| &workload.pods);
    let number = u32::try_from(pods().count()).unwrap_or(u32::MAX);
    if number == 0 {
        return 0.0;
    }
    let restarts: f64 =
        pods().flat_map(|pod| &pod.containers).map(|container| f64::from(container.restarts)).sum();
    restarts / f64::from(number)
}
