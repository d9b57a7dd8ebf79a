//! What a test process and the broker say to each other: one JSON document a line.

use serde::{Deserialize, Serialize};

use crate::control_plane::ControlPlaneOptions;

/// The first line of a connection: what is wanted. The connection is the lease.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wanted {
    /// A control plane of one's own.
    ControlPlane(ControlPlaneOptions),
    /// A cluster with a real node.
    RealCluster {
        /// What people call it.
        name: String,
    },
    /// The PostgreSQL server that all tests of a run share, each with its own databases.
    Postgres,
}

/// A later line: something to do with what was leased.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// Send a part of a control plane a signal.
    Signal {
        /// Its name, such as `kube-apiserver`.
        part: String,
        /// The number of the signal.
        signal: i32,
    },
    /// Start a part that ended.
    Start {
        /// Its name.
        part: String,
    },
    /// End the real node's kubelet and start it again.
    RestartKubelet,
}

/// The answer to either.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It was done; for a lease, what its user must know.
    Done(serde_json::Value),
    /// It could not be done.
    Failed(String),
}
