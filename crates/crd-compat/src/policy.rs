//! What is tolerated: severities per finding, presets, and waivers that end.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::finding::{Finding, Severity, WaivedBy};
use crate::rules;

/// A starting point for a policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preset {
    /// Every finding as its rule has it.
    #[default]
    Strict,
    /// Controllers that follow upstream APIs: descriptions, printer columns and new enum values are
    /// tolerated.
    UpstreamControllers,
}

impl Preset {
    fn action(self, id: &str) -> Option<Action> {
        match self {
            Preset::Strict => None,
            Preset::UpstreamControllers => match id {
                "description-changed"
                | "printer-column-added"
                | "printer-column-removed"
                | "printer-column-changed" => Some(Action::Ignore),
                // An API server refuses nothing where there is a default.
                "enum-value-added" | "enum-lifted" | "required-with-default" => Some(Action::Safe),
                // Without effect on the API server, so a matter of taste upstream.
                "misplaced-size-floor" => Some(Action::Risky),
                _ => None,
            },
        }
    }
}

/// What becomes of the findings of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// They are left out.
    Ignore,
    /// They are safe.
    Safe,
    /// They are risky.
    Risky,
    /// They are breaking.
    Breaking,
}

impl Action {
    fn severity(self) -> Option<Severity> {
        match self {
            Action::Ignore => None,
            Action::Safe => Some(Severity::Safe),
            Action::Risky => Some(Severity::Risky),
            Action::Breaking => Some(Severity::Breaking),
        }
    }
}

/// Somebody's decision to live with a finding for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiver {
    /// The finding.
    pub finding: String,
    /// The definition it is about; every one, when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crd: Option<String>,
    /// Where; `*` stands for anything.
    pub path: String,
    /// Why it is acceptable.
    pub reason: String,
    /// Who takes the responsibility.
    pub who: String,
    /// Until when.
    pub expires: Timestamp,
}

impl Waiver {
    fn covers(&self, crd: &str, finding: &Finding) -> bool {
        self.finding == finding.id
            && self.crd.as_deref().is_none_or(|name| name == crd)
            && matches(&self.path, &finding.path)
    }
}

/// What is tolerated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// Where it starts from.
    pub preset: Preset,
    /// What becomes of the findings of single rules.
    pub rules: BTreeMap<String, Action>,
    /// Findings that are accepted for a while.
    pub waivers: Vec<Waiver>,
}

/// A policy that names something that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the policy names the finding {id:?}, which does not exist{}", similar(id))]
pub struct PolicyError {
    /// The name.
    pub id: String,
}

fn similar(id: &str) -> String {
    let near = rules::similar(id);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

impl Policy {
    /// The policy a preset stands for.
    pub fn preset(preset: Preset) -> Policy {
        Policy { preset, ..Policy::default() }
    }

    /// Whether every finding the policy names exists: a misspelt name would tolerate nothing, silently.
    pub fn check(&self) -> Result<(), PolicyError> {
        let named = self.rules.keys().chain(self.waivers.iter().map(|waiver| &waiver.finding));
        for id in named {
            if rules::find(id).is_none() {
                return Err(PolicyError { id: id.clone() });
            }
        }
        Ok(())
    }

    fn action(&self, id: &str) -> Option<Action> {
        self.rules.get(id).copied().or_else(|| self.preset.action(id))
    }
}

/// Applies a policy to the findings of one definition.
pub(crate) fn apply(policy: &Policy, now: Timestamp, crd: &str, findings: &mut Vec<Finding>) {
    findings.retain_mut(|finding| match policy.action(finding.id) {
        None => true,
        // What is shown to harm nobody stays safe, whatever its rule is worth in general.
        Some(_) if finding.severity == Severity::Safe && default_severity(finding.id) > Severity::Safe => {
            true
        }
        Some(action) => match action.severity() {
            Some(severity) => {
                finding.severity = severity;
                true
            }
            None => false,
        },
    });
    let mut expired = Vec::new();
    for waiver in &policy.waivers {
        let covered = findings.iter_mut().filter(|finding| waiver.covers(crd, finding));
        if waiver.expires <= now {
            if covered.count() > 0 {
                expired.push(notice(waiver));
            }
            continue;
        }
        for finding in covered {
            finding.waived_by = Some(WaivedBy {
                who: waiver.who.clone(),
                reason: waiver.reason.clone(),
                expires: waiver.expires,
            });
        }
    }
    findings.extend(expired);
}

fn default_severity(id: &str) -> Severity {
    rules::find(id).map_or(Severity::Risky, |rule| rule.severity)
}

fn notice(waiver: &Waiver) -> Finding {
    let rule = &rules::WAIVER_EXPIRED;
    let mut finding = crate::compare::about_definition(rule, "", "", "");
    finding.path.clone_from(&waiver.path);
    finding.headline = format!(
        "the waiver of {} for {} at {} expired on {}",
        waiver.who, waiver.finding, waiver.path, waiver.expires
    );
    "it counts for nothing".clone_into(&mut finding.consequence);
    finding.message = format!("{}: {}", finding.headline, finding.consequence);
    finding
}

/// Whether a path fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return pattern == path };
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}
