//! What is said about the health of operators: once when an episode begins, once when it ends.

use jiff::Timestamp;
use serde_json::json;
use slipway_domain::access::Environment;
use slipway_domain::id::{ClusterId, OperatorId};

use super::letter::{Letter, moment};
use super::{Audience, Notice};

/// An operator on a cluster that is not well, or is well again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub cluster_name: String,
    /// Where it stands.
    pub environment: Environment,
    /// The operator.
    pub operator: OperatorId,
    /// Its name.
    pub operator_name: String,
    /// When the episode began; it tells this episode from the next.
    pub began_at: Timestamp,
    /// How it stands.
    pub state: AlertState,
}

/// How an episode stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertState {
    /// It is not well.
    Unhealthy {
        /// What was found, a sentence each.
        findings: Vec<String>,
        /// How many checks in a row found it.
        checks: u32,
    },
    /// It is well again.
    Recovered {
        /// Since when.
        at: Timestamp,
    },
}

impl Alert {
    /// The key of its messages: the same for each time that an episode is noticed, by whichever server, so
    /// that people are told once when it begins and once when it ends.
    pub fn key(&self) -> String {
        let state = match self.state {
            AlertState::Unhealthy { .. } => "unhealthy",
            AlertState::Recovered { .. } => "recovered",
        };
        format!("alert/{}/{}/{}/{state}", self.cluster, self.operator, self.began_at.as_microsecond())
    }

    /// Who is told by mail.
    pub fn audience(&self) -> Audience {
        Audience::Alerted(self.environment)
    }

    /// What is said.
    pub fn notice(&self, public_url: &str) -> Notice {
        let (operator, cluster) = (&self.operator_name, &self.cluster_name);
        let public_url = public_url.trim_end_matches('/');
        let link = format!("{public_url}/clusters/{cluster}/operators/{operator}");
        let (kind, title, lead, status) = match &self.state {
            AlertState::Unhealthy { checks, .. } => (
                "alert.unhealthy",
                "Unhealthy",
                format!("{operator} on {cluster} is not well: {checks} checks in a row failed."),
                "Unhealthy",
            ),
            AlertState::Recovered { at } => (
                "alert.recovered",
                "Recovered",
                format!("{operator} on {cluster} is well again, after {}.", span(self.began_at, *at)),
                "Healthy",
            ),
        };
        let mut letter = Letter::new(lead)
            .fact("Operator", operator.as_str())
            .fact("Cluster", cluster.as_str())
            .fact("Environment", self.environment.to_string());
        let mut findings: &[String] = &[];
        letter = match &self.state {
            AlertState::Unhealthy { findings: found, .. } => {
                findings = found;
                letter.fact("Found", found.join("\n")).fact("Since", moment(self.began_at))
            }
            AlertState::Recovered { at } => {
                letter.fact("Began", moment(self.began_at)).fact("Ended", moment(*at))
            }
        };
        let letter = letter.next("Look at it:", [link.clone()]).next(
            "On the command line:",
            [format!("slipway operator health {operator} --cluster {cluster}")],
        );
        let ended_at = match &self.state {
            AlertState::Unhealthy { .. } => None,
            AlertState::Recovered { at } => Some(at.to_string()),
        };
        Notice {
            kind,
            key: self.key(),
            subject: format!("{title}: {operator} on {cluster}"),
            text: letter.text(),
            facts: json!({
                "operatorName": operator,
                "clusterName": cluster,
                "environment": self.environment,
                "health": status,
                "findings": findings,
                "beganAt": self.began_at.to_string(),
                "endedAt": ended_at,
                "link": link,
            }),
        }
    }
}

/// How long something took, roughly: `45 s`, `12 min`, `3 h 5 min`.
fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.duration_since(from).as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
