//! Whether an Application can run at all.
//!
//! The schema says most of this already. It is said again because objects also come in as `v1beta1`, whose
//! schema cannot say all of it, and because a cluster may allow less than the schema.

use super::{Findings, Profile};
use crate::children::Quantity;
use crate::crd::{Amounts, Application};

/// Longest key of a `ConfigMap`.
const LONGEST_KEY: usize = 253;

pub(super) fn check(app: &Application, profile: &Profile, findings: &mut Findings) {
    replicas(app.spec.replicas, profile, findings);
    if app.spec.image.trim().is_empty() {
        findings.deny("spec.image", "the image must not be blank");
    }
    for key in app.spec.config.keys() {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if key.is_empty()
            || key.len() > LONGEST_KEY
            || !key.bytes().all(allowed)
            || key.starts_with("..")
            || key == "."
        {
            let message = format!(
                "{key:?} cannot be the name of a variable; use letters, digits, '-', '_' and '.', {LONGEST_KEY} at most"
            );
            findings.deny("spec.config", message);
        }
    }
    if let Err(error) = app.port() {
        let message = error.to_string();
        let message = message.strip_prefix("spec.config.PORT ").unwrap_or(&message);
        findings.deny("spec.config.PORT", message);
    }
    resources(app, findings);
    let limits = app.spec.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let missing: Vec<&str> = [
        ("cpu", limits.and_then(|limits| limits.cpu.as_ref())),
        ("memory", limits.and_then(|limits| limits.memory.as_ref())),
    ]
    .into_iter()
    .filter_map(|(name, amount)| amount.is_none().then_some(name))
    .collect();
    if !missing.is_empty() {
        let message = format!(
            "there is no limit for {}; a pod without one can take a node's share from others",
            missing.join(" and ")
        );
        findings.react(profile.require_limits, "spec.resources.limits", &message);
    }
}

fn replicas(replicas: i32, profile: &Profile, findings: &mut Findings) {
    let most = profile.max_replicas;
    if replicas < 0 {
        findings.deny("spec.replicas", format!("{replicas} is less than 0"));
    } else if replicas.unsigned_abs() > most {
        let message =
            format!("{replicas} is more than {most}; to follow the load, use a HorizontalPodAutoscaler");
        findings.deny("spec.replicas", message);
    }
}

fn resources(app: &Application, findings: &mut Findings) {
    let Some(resources) = &app.spec.resources else { return };
    let requests = amounts("requests", resources.requests.as_ref(), findings);
    let limits = amounts("limits", resources.limits.as_ref(), findings);
    for (index, name) in ["cpu", "memory"].into_iter().enumerate() {
        if let (Some(request), Some(limit)) = (requests[index], limits[index])
            && request.exceeds(&limit)
        {
            let field = format!("spec.resources.requests.{name}");
            findings.deny(field, format!("{request} is above the limit of {limit}"));
        }
    }
}

/// Processor time and memory, where they are amounts.
fn amounts(kind: &str, amounts: Option<&Amounts>, findings: &mut Findings) -> [Option<Quantity>; 2] {
    let Some(Amounts { cpu, memory }) = amounts else { return [None, None] };
    [("cpu", cpu), ("memory", memory)].map(|(name, text)| {
        let text = text.as_ref()?;
        text.parse::<Quantity>()
            .map_err(|error| {
                let field = format!("spec.resources.{kind}.{name}");
                findings.deny(field, format!("{text:?} is not a quantity such as 500m or 128Mi: {error}"));
            })
            .ok()
    })
}
