//! How the operator is now: whoever changes what is broken already should know it.

use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::health::{HealthRules, Look, Memory, Verdict, WebhookAnswer, Weight, judge};
use slipway_domain::preflight::{CheckKind, Finding, Level};
use slipway_orchestrator::ports::fleet::Subject;
use slipway_orchestrator::ports::probes::{Freshness, Manner, Target};

use super::super::site::Site;
use super::installed::Installed;
use crate::kubernetes::probes::{self, look_at};

/// How long looking may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was found; nothing where nothing is installed.
pub(super) async fn findings(
    site: &Site,
    subject: &Subject,
    installed: Option<&Installed>,
    now: Timestamp,
) -> Vec<Finding> {
    let Some(installed) = installed else { return Vec::new() };
    let namespace = &subject.placement.release.namespace;
    let release = probes::Subject::of_objects(&installed.objects, namespace);
    let rules = HealthRules {
        sample: subject.profile.webhook_sample.clone().map(serde_json::Value::Object),
        ..HealthRules::default()
    };
    let target = Target {
        cluster: subject.placement.cluster,
        cluster_name: subject.cluster.to_string(),
        operator_name: subject.operator_name.to_string(),
        releases: vec![subject.placement.release.clone()],
        crds: subject.crds.clone(),
        rules,
    };
    let manner = Manner { at: now, freshness: Freshness::Now, within: PATIENCE, smoke: false };
    let seen = look_at(site.client.clone(), &release, &target, manner).await;
    let workloads = match &seen.workloads {
        Look::Seen(workloads) => workloads.as_slice(),
        Look::Unseen(_) => &[],
    };
    let memory = Memory::default().after(workloads, seen.at, &target.rules.limits);
    let health = judge(&seen, &memory, None, &target.rules, Duration::ZERO);
    let heavy = health.reasons.iter().filter(|reason| reason.weight > Weight::Note);
    let reasons: Vec<&str> = heavy.map(|reason| reason.text.as_str()).collect();
    let finding = |check, level, text: String| Finding::new(check, level, text);
    let whole = match health.verdict {
        Verdict::Healthy => finding(CheckKind::Health, Level::Passed, "it is well".to_owned()),
        Verdict::Unknown => finding(
            CheckKind::Health,
            Level::Unknown,
            format!("how it is cannot be told: {}", reasons.join("; ")),
        ),
        _ => finding(
            CheckKind::Health,
            Level::Warning,
            format!("it is not well already: {}", reasons.join("; ")),
        ),
    };
    vec![whole, webhooks(&seen.webhooks)]
}

fn webhooks(seen: &Look<Vec<slipway_domain::health::WebhookSeen>>) -> Finding {
    let finding = |level, text: String| Finding::new(CheckKind::Webhooks, level, text);
    let seen = match seen {
        Look::Seen(seen) => seen,
        Look::Unseen(why) => return finding(Level::Unknown, why.clone()),
    };
    let silent: Vec<String> = seen
        .iter()
        .filter_map(|webhook| match &webhook.answer {
            WebhookAnswer::Failed { message } => Some(format!("{} ({message})", webhook.name)),
            _ => None,
        })
        .collect();
    if !silent.is_empty() {
        return finding(Level::Warning, "these webhooks cannot be called now".to_owned()).about(silent);
    }
    let asked = seen.iter().filter(|webhook| webhook.answer == WebhookAnswer::Answered).count();
    match (seen.len(), asked) {
        (0, _) => finding(Level::Passed, "it has no webhooks".to_owned()),
        (all, asked) if all == asked => finding(Level::Passed, "its webhooks answer".to_owned()),
        (all, asked) => finding(Level::Unknown, format!("{asked} of its {all} webhooks could be asked")),
    }
}
