//! How a cluster is: what was seen of it, and what that means.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a cluster is, in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HealthStatus {
    /// Nobody has looked yet, or it is left alone.
    #[default]
    Unknown,
    /// Its API server answers and all its nodes are ready.
    Healthy,
    /// It answers, and something is wrong with it.
    Degraded,
    /// It does not answer, or does not let us in.
    Unhealthy,
}

/// How a cluster is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterHealth {
    /// In one word.
    pub status: HealthStatus,
    /// Why it is not healthy.
    pub reason: Option<String>,
    /// The version of its API server, as last seen.
    pub kubernetes_version: Option<String>,
    /// Its nodes, as last seen.
    pub nodes: NodeCount,
    /// Whether its API server answered the last time.
    pub reachable: bool,
    /// How long that took.
    pub latency_ms: Option<u32>,
    /// When somebody last looked.
    pub checked_at: Option<Timestamp>,
    /// Since when it has this status.
    pub since: Option<Timestamp>,
}

/// How many nodes there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    /// That are ready.
    pub ready: u32,
    /// That are not.
    pub not_ready: u32,
}

impl NodeCount {
    /// All.
    pub fn total(self) -> u32 {
        self.ready.saturating_add(self.not_ready)
    }
}

/// What was seen of a cluster that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    /// The version of its API server, such as `v1.34.1`.
    pub kubernetes_version: String,
    /// The uid of its namespace `kube-system`, if we may see it.
    pub uid: Option<String>,
    /// Its nodes; nothing if we may not list them.
    pub nodes: Option<NodeCount>,
    /// Some of the nodes that are not ready.
    pub not_ready: Vec<String>,
    /// What its API server says it lacks to be ready.
    pub unready: Option<String>,
    /// How long the API server took to answer.
    pub latency_ms: u32,
}

/// Why a cluster could not be seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// Nobody listens there.
    #[error("its API server refuses connections (connection refused)")]
    Refused,
    /// No answer in time.
    #[error("its API server does not answer within {0} s (timeout)")]
    Timeout(u64),
    /// The address is not known.
    #[error("the address of its API server cannot be resolved (DNS)")]
    Unresolved,
    /// The certificate is not one that the cluster's authority signed, or no TLS is spoken.
    #[error("its API server cannot be trusted (TLS: {0})")]
    Tls(String),
    /// The credential does not count any more.
    #[error("it refuses our credential (401)")]
    Unauthorized,
    /// It sends us elsewhere, where we do not go.
    #[error("it redirects to another address, which is not followed ({0})")]
    Redirected(u16),
    /// What answers is no API server.
    #[error("what answers there is no Kubernetes API server ({0})")]
    Strange(String),
    /// Another cluster than the one that was registered.
    #[error("another cluster answers at its address than the one that was registered")]
    Another,
    /// The connection broke.
    #[error("the connection to its API server broke: {0}")]
    Broken(String),
}

impl ClusterHealth {
    /// What a look means. What was seen before stays known while the cluster does not answer.
    #[must_use]
    pub fn after(&self, seen: &Result<Observation, Unreachable>, now: Timestamp) -> Self {
        let (status, reason) = verdict(seen);
        let known = seen.as_ref().ok();
        Self {
            status,
            reason,
            kubernetes_version: known
                .map(|known| known.kubernetes_version.clone())
                .or_else(|| self.kubernetes_version.clone()),
            nodes: known.and_then(|known| known.nodes).unwrap_or(self.nodes),
            reachable: !matches!(seen, Err(why) if *why != Unreachable::Unauthorized),
            latency_ms: known.map(|known| known.latency_ms),
            checked_at: Some(now),
            since: if status == self.status { self.since.or(Some(now)) } else { Some(now) },
        }
    }
}

/// What a look means, and why.
pub fn verdict(seen: &Result<Observation, Unreachable>) -> (HealthStatus, Option<String>) {
    let seen = match seen {
        Err(why) => return (HealthStatus::Unhealthy, Some(why.to_string())),
        Ok(seen) => seen,
    };
    let mut reasons = Vec::new();
    if let Some(unready) = &seen.unready {
        reasons.push(format!("its API server is not ready ({unready})"));
    }
    match seen.nodes {
        None => reasons.push("we may not list its nodes (403)".to_owned()),
        Some(nodes) if nodes.not_ready > 0 => {
            let shown = seen.not_ready.join(", ");
            let more = if nodes.not_ready as usize > seen.not_ready.len() { ", …" } else { "" };
            reasons.push(format!(
                "{} of {} nodes {} not ready ({shown}{more})",
                nodes.not_ready,
                nodes.total(),
                if nodes.not_ready == 1 { "is" } else { "are" },
            ));
        }
        Some(_) => {}
    }
    if reasons.is_empty() {
        (HealthStatus::Healthy, None)
    } else {
        (HealthStatus::Degraded, Some(reasons.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ready: u32, not_ready: &[&str]) -> Observation {
        Observation {
            kubernetes_version: "v1.34.1".to_owned(),
            nodes: Some(NodeCount { ready, not_ready: u32::try_from(not_ready.len()).unwrap() }),
            not_ready: not_ready.iter().map(|name| (*name).to_owned()).collect(),
            latency_ms: 4,
            ..Observation::default()
        }
    }

    #[test]
    fn a_look_becomes_a_word_with_the_reason() {
        assert_eq!(verdict(&Ok(seen(0, &[]))), (HealthStatus::Healthy, None));
        assert_eq!(
            verdict(&Ok(seen(2, &["n3"]))),
            (HealthStatus::Degraded, Some("1 of 3 nodes is not ready (n3)".to_owned()))
        );
        let mut blind = seen(1, &[]);
        blind.nodes = None;
        blind.unready = Some("etcd failed".to_owned());
        assert_eq!(
            verdict(&Ok(blind)).1.unwrap(),
            "its API server is not ready (etcd failed); we may not list its nodes (403)"
        );
        assert_eq!(
            verdict(&Err(Unreachable::Refused)),
            (
                HealthStatus::Unhealthy,
                Some("its API server refuses connections (connection refused)".to_owned())
            )
        );
    }

    #[test]
    fn what_was_known_stays_known_while_a_cluster_is_away() {
        let (first, second, third): (Timestamp, Timestamp, Timestamp) = (
            "2026-01-01T00:00:00Z".parse().unwrap(),
            "2026-01-01T00:01:00Z".parse().unwrap(),
            "2026-01-01T00:02:00Z".parse().unwrap(),
        );
        let there = ClusterHealth::default().after(&Ok(seen(3, &[])), first);
        let gone = there.after(&Err(Unreachable::Timeout(10)), second);
        assert_eq!(gone.kubernetes_version.as_deref(), Some("v1.34.1"));
        assert_eq!((gone.nodes.ready, gone.latency_ms, gone.reachable), (3, None, false));
        assert_eq!(gone.since, Some(second));
        let still = gone.after(&Err(Unreachable::Refused), third);
        assert_eq!((still.since, still.checked_at), (Some(second), Some(third)), "the episode goes on");
        let refused = gone.after(&Err(Unreachable::Unauthorized), third);
        assert!(refused.reachable, "a server that answers 401 is there");
    }
}
