//! What a decision asks the engine to do, once the decision is committed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::State;
use super::step::{ActKey, Revision};
use crate::approval::PlanHash;
use crate::name::Name;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// A step of a cluster. Its intent is part of the new state; the act comes after the commit.
    Act {
        /// Its idempotency key.
        key: ActKey,
        /// When the attempt is over whatever happens.
        deadline: Timestamp,
    },
    /// The health of a cluster is looked at, for this revision. Reads only.
    Look {
        /// Which.
        cluster: Name,
        /// The revision that has to be seen; any where there is none.
        revision: Option<Revision>,
    },
    /// A gate is asked. Reads only.
    Measure {
        /// Its name.
        gate: String,
    },
    /// People are asked about a plan, as the approvals that it requires say; earlier ones lapse.
    Ask {
        /// Which plan.
        plan: PlanHash,
        /// The number of the question; the answer comes back with it.
        number: u32,
    },
}

/// Something that people may want to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct News {
    /// In a word, such as `waveStarted`.
    pub kind: &'static str,
    /// On which cluster.
    pub cluster: Option<Name>,
    /// In a sentence.
    pub text: String,
    /// Whether mail and webhooks go out.
    pub loud: bool,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is known now; committed, fenced, before anything is done.
    pub state: State,
    /// What is new to be done.
    pub actions: Vec<Action>,
    /// What happened, oldest first.
    pub news: Vec<News>,
    /// When it has to be decided again at the latest; never where it is over.
    pub due: Option<Timestamp>,
}
