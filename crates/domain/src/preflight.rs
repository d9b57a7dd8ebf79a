//! What a preflight says about one cluster: everything that was looked at before anything is changed.
//!
//! Whoever looks fills a [`Preflight`]; [`Preflight::outcome`] makes of it what the decider takes. It is for
//! people, too: `slipway deploy --dry-run` prints it. It never holds a secret.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rollout::{Found, Outcome};
use crate::version::Version;

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CheckKind {
    /// Whether the cluster answers.
    Reachable,
    /// Whether another tool or another release owns what would be changed.
    Ownership,
    /// Whether the cluster's version of Kubernetes fits the chart.
    Kubernetes,
    /// Whether the profile allows the step from version to version.
    UpgradePath,
    /// Whether the values fit the chart.
    Values,
    /// Whether the chart renders against this cluster.
    Renders,
    /// What would be made, changed and deleted.
    Difference,
    /// Whether the cluster would take every manifest.
    Permitted,
    /// Whether CRDs fit what is there, live objects included.
    Crds,
    /// Whether its webhooks answer now.
    Webhooks,
    /// How the operator is now.
    Health,
    /// Whether images can be pulled, where that can be known.
    Images,
    /// Whether two colours can stand beside each other.
    Colours,
    /// Whether it can be taken back.
    Return,
}

impl CheckKind {
    /// In a word or two, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Ownership => "ownership",
            Self::Kubernetes => "Kubernetes",
            Self::UpgradePath => "upgrade path",
            Self::Values => "values",
            Self::Renders => "chart",
            Self::Difference => "difference",
            Self::Permitted => "permitted",
            Self::Crds => "CRDs",
            Self::Webhooks => "webhooks",
            Self::Health => "health",
            Self::Images => "images",
            Self::Colours => "colours",
            Self::Return => "going back",
        }
    }
}

impl fmt::Display for CheckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// It is as it has to be.
    Passed,
    /// It could not be known.
    Unknown,
    /// It can go on, and somebody should read this.
    Warning,
    /// It must not go on.
    Refused,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at.
    pub check: CheckKind,
    /// What it means.
    pub level: Level,
    /// In a sentence, with what to do where something is in the way.
    pub text: String,
    /// The objects it is about, such as `Certificate shop/web`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It is made.
    Created,
    /// It is changed.
    Changed,
    /// It is deleted.
    Deleted,
}

/// A difference between what is there and what would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What becomes of it.
    pub fate: Fate,
    /// Which object: `Deployment shop/web`.
    pub object: String,
    /// The fields that differ, each as `path: old → new`; secrets only by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// What a CRD would become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CrdChange {
    /// Its name.
    pub name: String,
    /// Whether it is new, changed or the same.
    pub fate: Option<Fate>,
    /// Sentences of what breaks, with the objects that would be refused or cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaking: Vec<String>,
    /// Sentences of what is risky.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risky: Vec<String>,
}

/// Whether it can be taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Return {
    /// It can.
    #[default]
    Reversible,
    /// After stored objects were rewritten.
    AfterMigration,
    /// It cannot.
    OneWay,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueSource {
    /// Its path, such as `image.tag`.
    pub path: String,
    /// What it is; `***` where it is secret.
    pub value: Value,
    /// Who says so: `operator`, `release`, `environment`, `cluster`, `deployment`, `colour`.
    pub source: String,
    /// The name of the document that says so, for an environment and a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// All that a preflight says about one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// When.
    pub at: Timestamp,
    /// The version that is there; nothing where the operator is not installed.
    pub from: Option<Version>,
    /// The version that would be.
    pub to: Version,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What would be made, changed and deleted.
    pub changes: Vec<Change>,
    /// What CRDs would become.
    pub crds: Vec<CrdChange>,
    /// Whether it can be taken back, and why not.
    pub going_back: Return,
    /// The values and where they come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueSource>,
    /// Of everything that would change on this cluster: another digest is another plan. It leaves out what
    /// moves by itself.
    pub digest: String,
}

impl Preflight {
    /// Whether CRDs would change in a way that breaks something.
    pub fn breaks_crds(&self) -> bool {
        self.crds.iter().any(|crd| !crd.breaking.is_empty())
    }

    /// What stands in the way.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.level == Level::Refused)
    }

    /// What the decider takes of it.
    pub fn outcome(&self) -> Outcome {
        let reasons: Vec<String> = self.refusals().map(Finding::sentence).collect();
        if !reasons.is_empty() {
            return Outcome::Done(Found::Refused { reasons });
        }
        let one_way = (self.going_back == Return::OneWay).then(|| self.to.clone());
        Outcome::Done(Found::Fits { digest: self.digest.clone(), one_way })
    }
}

impl Finding {
    /// Without objects.
    pub fn new(check: CheckKind, level: Level, text: impl Into<String>) -> Self {
        Self { check, level, text: text.into(), objects: Vec::new() }
    }

    /// With the objects it is about.
    #[must_use]
    pub fn about(mut self, objects: impl IntoIterator<Item = String>) -> Self {
        self.objects.extend(objects);
        self
    }

    /// The text with the first few objects.
    pub fn sentence(&self) -> String {
        const SHOWN: usize = 5;
        if self.objects.is_empty() {
            return self.text.clone();
        }
        let shown: Vec<&str> = self.objects.iter().take(SHOWN).map(String::as_str).collect();
        match self.objects.len().saturating_sub(SHOWN) {
            0 => format!("{}: {}", self.text, shown.join(", ")),
            more => format!("{}: {} and {more} more", self.text, shown.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preflight(findings: Vec<Finding>, going_back: Return) -> Preflight {
        Preflight {
            at: Timestamp::UNIX_EPOCH,
            from: None,
            to: "1.2.0".parse().expect("a version"),
            findings,
            changes: Vec::new(),
            crds: Vec::new(),
            going_back,
            values: Vec::new(),
            digest: "sha256:1".to_owned(),
        }
    }

    #[test]
    fn warnings_do_not_stand_in_the_way_and_refusals_all_do() {
        let warned =
            preflight(vec![Finding::new(CheckKind::Health, Level::Warning, "slow")], Return::Reversible);
        assert_eq!(
            warned.outcome(),
            Outcome::Done(Found::Fits { digest: "sha256:1".to_owned(), one_way: None })
        );
        let objects = (1..8).map(|number| format!("Certificate shop/{number}"));
        let refused = preflight(
            vec![
                Finding::new(CheckKind::Crds, Level::Refused, "would be refused").about(objects),
                Finding::new(CheckKind::Ownership, Level::Refused, "Argo CD manages it"),
            ],
            Return::Reversible,
        );
        let Outcome::Done(Found::Refused { reasons }) = refused.outcome() else { panic!("refused") };
        assert_eq!(reasons.len(), 2);
        assert!(reasons[0].ends_with("Certificate shop/5 and 2 more"), "{reasons:?}");
    }

    #[test]
    fn a_way_without_return_names_the_version() {
        let Outcome::Done(Found::Fits { one_way, .. }) = preflight(Vec::new(), Return::OneWay).outcome()
        else {
            panic!("fits")
        };
        assert_eq!(one_way.map(|version| version.to_string()), Some("1.2.0".to_owned()));
    }
}
