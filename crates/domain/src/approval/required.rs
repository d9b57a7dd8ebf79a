//! Which approvals a rollout needs.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Approval, ApprovalKind, ApprovalStatus, Level, PlanHash, Rules, Starter, Subject};
use crate::access::Environment;
use crate::id::{ApprovalId, RolloutId};
use crate::name::Name;
use crate::version::Version;

/// What is known of a rollout once its plan is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The rollout.
    pub rollout: RolloutId,
    /// The operator.
    pub operator: Name,
    /// The version that is rolled out.
    pub target_version: Version,
    /// The plan that was shown.
    pub plan: PlanHash,
    /// The clusters in production that it goes to, with the version that each runs now.
    pub production: BTreeMap<Name, Option<Version>>,
    /// The CRDs that break on those clusters.
    pub breaking_crds: Vec<String>,
}

/// An approval that is needed, before it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// What is asked.
    pub kind: ApprovalKind,
    /// About what.
    pub subject: Subject,
    /// Why, as a sentence.
    pub because: String,
    /// Who decides, in order.
    pub levels: Vec<Level>,
    /// Whether the starter must not approve.
    pub four_eyes: bool,
    /// How long it waits.
    pub expires_after: SignedDuration,
}

/// The approvals that a rollout needs: none where it stays away from production.
pub fn required(facts: &Facts, rules: &Rules) -> Vec<Requirement> {
    let reasons = [
        (ApprovalKind::ProductionDeployment, goes_to_production(facts)),
        (ApprovalKind::OperatorVersionUpgrade, changes_a_version(facts)),
        (ApprovalKind::BreakingCrdChange, breaks(facts)),
    ];
    let needed = |(kind, because): (ApprovalKind, Option<String>)| {
        let rule = rules.of(kind);
        let because = because.filter(|_| rule.required)?;
        Some(Requirement {
            kind,
            subject: Subject {
                rollout: facts.rollout,
                operator: facts.operator.clone(),
                target_version: facts.target_version.clone(),
                environment: Environment::Production,
                plan: facts.plan.clone(),
            },
            because,
            levels: rule.levels.clone(),
            four_eyes: rule.four_eyes,
            expires_after: rule.expires_after,
        })
    };
    reasons.into_iter().filter_map(needed).collect()
}

fn goes_to_production(facts: &Facts) -> Option<String> {
    let names: Vec<&str> = facts.production.keys().map(Name::as_str).collect();
    (!names.is_empty()).then(|| format!("it goes to production: {}", listed(&names, "cluster")))
}

fn changes_a_version(facts: &Facts) -> Option<String> {
    let mut from: Vec<&Version> =
        facts.production.values().flatten().filter(|version| **version != facts.target_version).collect();
    from.sort();
    from.dedup();
    let from: Vec<&str> = from.into_iter().map(Version::as_str).collect();
    (!from.is_empty()).then(|| format!("it runs in production, as {}", listed(&from, "version")))
}

fn breaks(facts: &Facts) -> Option<String> {
    let names: Vec<&str> = facts.breaking_crds.iter().map(String::as_str).collect();
    (!names.is_empty() && !facts.production.is_empty())
        .then(|| format!("its schemas break what is in production: {}", listed(&names, "CRD")))
}

/// A few by name, the rest as a number.
fn listed(names: &[&str], kind: &str) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match more {
        0 => shown,
        1 => format!("{shown} and 1 more {kind}"),
        more => format!("{shown} and {more} more {kind}s"),
    }
}

impl Requirement {
    /// Asks for it from now on.
    pub fn ask(self, id: ApprovalId, starter: Starter, now: Timestamp) -> Approval {
        let expires_at = now.checked_add(self.expires_after).unwrap_or(Timestamp::MAX);
        Approval {
            id,
            kind: self.kind,
            subject: self.subject,
            because: self.because,
            starter,
            levels: self.levels,
            four_eyes: self.four_eyes,
            created_at: now,
            expires_at,
            status: ApprovalStatus::Pending,
            ended_at: None,
            lapsed_because: None,
            decisions: Vec::new(),
            version: 1,
        }
    }
}
