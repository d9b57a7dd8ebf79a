//! The hash of a plan: what people agree to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::plan::Wave;
use super::state::State;
use super::strategy::Settings;
use crate::approval::PlanHash;
use crate::name::Name;
use crate::version::Version;

#[derive(Serialize)]
struct Shown<'a> {
    operator: &'a Name,
    version: &'a str,
    settings: &'a Settings,
    waves: &'a [Wave],
    changes: BTreeMap<&'a Name, Option<&'a str>>,
    /// The same plan after a no is another question.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusals: Option<u32>,
}

impl State {
    /// The hash of the plan as it is now: what goes where, in which order, how it is judged, and what the
    /// last preflight found would change on each cluster. The same plan has the same hash on every server.
    pub fn plan_hash(&self) -> PlanHash {
        let version: &Version = &self.spec.version;
        let shown = Shown {
            operator: &self.spec.operator,
            version: version.as_str(),
            settings: &self.spec.settings,
            waves: &self.waves,
            changes: self
                .clusters
                .iter()
                .map(|(name, cluster)| (name, cluster.fit.as_ref().map(|fit| fit.digest.as_str())))
                .collect(),
            refusals: Some(self.refusals).filter(|refusals| *refusals > 0),
        };
        // Plain data with keys that are text: writing it as JSON cannot fail.
        let text = serde_json::to_vec(&shown).unwrap_or_default();
        let mut hash = String::from("sha256:");
        for byte in Sha256::digest(&text) {
            let _ = write!(hash, "{byte:02x}");
        }
        PlanHash::new(hash)
    }
}
