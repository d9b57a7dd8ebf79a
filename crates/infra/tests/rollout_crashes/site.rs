//! A simulated cluster: releases with their revisions, CRDs, what does the work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_domain::rollout::{ActKey, Before, Found, Outcome, Revision, StepKind};

/// A revision of a release: what it brings, and which act made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) version: String,
    pub(crate) by: String,
}

/// A cluster as it is. Two that went through the same are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// The release that was there: all its revisions; none once it was removed.
    pub(crate) blue: Vec<Made>,
    /// The release beside it.
    pub(crate) green: Vec<Made>,
    /// Whether green does the work.
    pub(crate) switched: bool,
    /// What the CRDs and the stored objects are of.
    pub(crate) crds: String,
    pub(crate) stored: String,
}

pub(crate) const OLD: &str = "1.0.0";
pub(crate) const NEW: &str = "2.0.0";

impl Site {
    pub(crate) fn new() -> Self {
        Self {
            blue: vec![Made { version: OLD.into(), by: "before".into() }],
            green: Vec::new(),
            switched: false,
            crds: OLD.into(),
            stored: OLD.into(),
        }
    }

    pub(crate) fn revision(&self, green: bool) -> Option<Revision> {
        let (release, name) = if green { (&self.green, "green") } else { (&self.blue, "boats") };
        (!release.is_empty()).then(|| Revision(format!("{name}.v{}", release.len())))
    }

    /// The version of what a revision is of.
    pub(crate) fn version(&self, green: bool) -> Option<&str> {
        let release = if green { &self.green } else { &self.blue };
        release.last().map(|made| made.version.as_str())
    }

    /// Does a step; one that was done under the same key is found done.
    pub(crate) fn act(&mut self, key: &ActKey, beside: bool, kept: Option<&Before>) -> Outcome {
        let by = key.to_string();
        match key.kind {
            StepKind::Preflight => {
                return Outcome::Done(Found::Fits { digest: "change".to_owned(), one_way: None });
            }
            StepKind::Snapshot => {
                let version = self.version(false).map(|version| version.parse().unwrap());
                return Outcome::Done(Found::Kept(Before { version, revision: self.revision(false) }));
            }
            StepKind::Crds => NEW.clone_into(&mut self.crds),
            StepKind::ReturnCrds => OLD.clone_into(&mut self.crds),
            StepKind::Release => {
                let release = if beside { &mut self.green } else { &mut self.blue };
                make(release, NEW, by);
                return Outcome::Done(Found::Released(self.revision(beside).unwrap()));
            }
            StepKind::Restore => {
                let Some(version) = kept.and_then(|before| before.version.as_ref()) else {
                    return Outcome::Failed { reason: "no snapshot was kept".to_owned() };
                };
                make(&mut self.blue, version.as_str(), by);
                self.switched = false;
                return Outcome::Done(Found::Released(self.revision(false).unwrap()));
            }
            StepKind::Switch => self.switched = true,
            StepKind::SwitchBack => self.switched = false,
            StepKind::RemoveGreen => self.green.clear(),
            StepKind::RetireBlue => self.blue.clear(),
            StepKind::Migrate => NEW.clone_into(&mut self.stored),
            StepKind::Smoke => {}
        }
        Outcome::Done(Found::Nothing)
    }
}

/// A new revision, unless the last one was made by the same act.
fn make(release: &mut Vec<Made>, version: &str, by: String) {
    if release.last().is_none_or(|made| made.by != by) {
        release.push(Made { version: version.to_owned(), by });
    }
}

/// Who may act: the credential of an attempt. Whoever goes on with the attempt ends the one before.
#[derive(Debug, Default)]
pub(crate) struct Credentials(BTreeMap<String, u32>);

impl Credentials {
    /// A new one; nothing where another may still act and nobody said so.
    pub(crate) fn take(&mut self, key: &ActKey, resumed: bool) -> Option<u32> {
        let number = self.0.entry(key.to_string()).or_default();
        if *number > 0 && !resumed {
            return None;
        }
        *number += 1;
        Some(*number)
    }

    pub(crate) fn holds(&self, key: &ActKey, number: u32) -> bool {
        self.0.get(&key.to_string()) == Some(&number)
    }
}
