//! What was seen on a cluster, before anybody says what it means.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::certificate::CertificateSeen;
use super::judgement::Weight;
use super::tally::Tally;

/// Something that was looked for: seen, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look<T> {
    /// This is what was seen.
    Seen(T),
    /// It could not be seen, because of this.
    Unseen(String),
}

/// All that was seen of an operator on a cluster at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// When the look began; ages are counted from here.
    pub at: Timestamp,
    /// The workloads of the operator's releases with their pods.
    pub workloads: Look<Vec<WorkloadSeen>>,
    /// The admission webhooks of the operator.
    pub webhooks: Look<Vec<WebhookSeen>>,
    /// What reading its objects at other than the stored version gave.
    pub conversions: Vec<ConversionSeen>,
    /// Its custom resources, kind by kind.
    pub resources: Look<Vec<Tally>>,
    /// The smoke test, where the profile asks for one and its time had come.
    pub smoke: Option<SmokeSeen>,
    /// What the further rules of the profile found.
    pub rules: Vec<RuleSeen>,
    /// The last error lines of its controllers.
    pub logs: Vec<LogLine>,
}

impl Observation {
    /// Nothing was seen at all, for one reason.
    pub fn unseen(at: Timestamp, reason: &str) -> Self {
        Self {
            at,
            workloads: Look::Unseen(reason.to_owned()),
            webhooks: Look::Unseen(reason.to_owned()),
            conversions: Vec::new(),
            resources: Look::Unseen(reason.to_owned()),
            smoke: None,
            rules: Vec::new(),
            logs: Vec::new(),
        }
    }
}

/// What a further rule of the profile found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSeen {
    /// What people call it.
    pub name: String,
    /// What it means when it does not hold.
    pub weight: Weight,
    /// The objects that are not as they have to be, each with why.
    pub broken: Look<Vec<String>>,
}

/// A workload of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSeen {
    /// Such as `Deployment`.
    pub kind: String,
    /// Where.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is there at all.
    pub exists: bool,
    /// How many pods it has to have.
    pub expected: u32,
    /// Those it has; ones that end already are not among them.
    pub pods: Vec<PodSeen>,
}

impl WorkloadSeen {
    /// `Deployment cert-manager/webhook`.
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }

    /// How many of its pods are ready.
    pub fn ready(&self) -> u32 {
        u32::try_from(self.pods.iter().filter(|pod| pod.ready).count()).unwrap_or(u32::MAX)
    }
}

/// A pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodSeen {
    /// Its uid.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Such as `Running` or `Pending`.
    pub phase: String,
    /// When it was made.
    pub created: Timestamp,
    /// Why it cannot be placed or started, where it says so itself.
    pub trouble: Option<String>,
    /// Its containers, those that start it included.
    pub containers: Vec<ContainerSeen>,
}

/// A container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerSeen {
    /// Its name.
    pub name: String,
    /// How often it was started again.
    pub restarts: u32,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// How it ended the last time.
    pub last_exit: Option<Exit>,
    /// What it uses, where a metrics API says so.
    pub usage: Option<Usage>,
    /// What it may use.
    pub limit: Usage,
}

/// Why a container waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Such as `CrashLoopBackOff`.
    pub reason: String,
    /// In words.
    pub message: Option<String>,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Such as `OOMKilled`.
    pub reason: String,
    /// Its exit code.
    pub code: i32,
}

/// Processor and memory; nothing where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Thousandths of a processor.
    pub cpu_millis: Option<u64>,
    /// Bytes.
    pub memory_bytes: Option<u64>,
}

/// Which kind of admission webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookKind {
    /// Says yes or no.
    Validating,
    /// Changes what is sent.
    Mutating,
}

/// What became of asking a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "camelCase")]
pub enum WebhookAnswer {
    /// It answered, yes or no: both mean that it works.
    Answered,
    /// The API server could not call it.
    Failed {
        /// What the API server says.
        message: String,
    },
    /// It was not asked.
    NotAsked {
        /// Why.
        why: String,
    },
}

/// An admission webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookSeen {
    /// The configuration it is registered in.
    pub configuration: String,
    /// Its name there.
    pub name: String,
    /// Which kind.
    pub kind: WebhookKind,
    /// Where it is: a service with its path, or an address.
    pub endpoint: String,
    /// Whether the API server refuses requests when it does not answer.
    pub fails_closed: bool,
    /// What became of asking it.
    pub answer: WebhookAnswer,
    /// How long it took.
    pub latency: Option<Duration>,
    /// The certificate it shows, or the one it is trusted by.
    pub certificate: Option<CertificateSeen>,
}

/// What reading objects at another version than the stored one gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversionSeen {
    /// The CRD.
    pub crd: String,
    /// The version that was read.
    pub version: String,
    /// What became of it.
    pub answer: WebhookAnswer,
}

/// What became of the smoke test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmokeSeen {
    /// When it ran.
    pub at: Timestamp,
    /// Which object, such as `Certificate smoke`.
    pub object: String,
    /// Why it failed; nothing when it passed.
    pub failure: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// A line that a controller wrote, with secrets taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// When, where the kubelet says so.
    pub at: Option<Timestamp>,
    /// The line.
    pub line: String,
}
