//! Nodes without machines: kwok lets Deployments become Ready, and pods fail as they are told.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use slipway_programs::Program;

use crate::part::Part;
use crate::wait::{free_port, until};

const STAGES: &str = include_str!("kwok/stages.yaml");

/// The annotation of a pod (or of a pod template) that tells how it behaves on such a node.
pub const BEHAVIOUR: &str = "testkit.slipway.dev/pod";

/// How a pod behaves; without one it becomes Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Its containers fail again and again: `CrashLoopBackOff`.
    CrashLoop,
    /// It runs, and never becomes Ready.
    Unready,
    /// It runs for half a second and is gone.
    Vanish,
}

impl Behaviour {
    /// The annotation's value.
    pub fn annotation(self) -> &'static str {
        match self {
            Self::CrashLoop => "crash-loop",
            Self::Unready => "unready",
            Self::Vanish => "vanish",
        }
    }
}

/// Starts kwok beside a control plane and makes `nodes` nodes, all Ready.
pub(crate) async fn start(
    client: &Client,
    directory: &Path,
    kubeconfig: &Path,
    nodes: u32,
) -> anyhow::Result<Part> {
    let stages = directory.join("stages.yaml");
    fs::write(&stages, STAGES)?;
    let part = Part::builder("kwok", Program::Kwok.find()?)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--config")
        .arg(&stages)
        .arg("--manage-all-nodes")
        .arg(format!("--server-address=127.0.0.1:{}", free_port()))
        .stop_signal("KILL")
        .log_file(directory.join("kwok.log"))
        .start()?;
    let api = Api::<Node>::all(client.clone());
    for number in 0..nodes {
        let node = Node {
            metadata: ObjectMeta { name: Some(format!("kwok-{number}")), ..ObjectMeta::default() },
            ..Node::default()
        };
        api.create(&PostParams::default(), &node).await.context("making a kwok node")?;
    }
    until("kwok nodes to be Ready", Duration::from_mins(1), async || {
        let list = api.list(&kube::api::ListParams::default()).await.ok()?;
        let ready = list.items.iter().filter(|node| is_ready(node)).count();
        (ready >= nodes as usize).then_some(())
    })
    .await?;
    Ok(part)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
