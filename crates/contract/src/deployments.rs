//! Deployments: how a version of an operator goes out over clusters, and comes back where it hurts.
//!
//! What is sent is in [`request`], what comes back in [`reply`], and what is found before anything is changed
//! in [`preflight`].

pub mod preflight;
pub mod reply;
pub mod request;
mod words;

use serde::{Deserialize, Serialize};
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Endpoint, Method};

pub use preflight::{
    DryRunCluster, DryRunReply, PreflightChange, PreflightCluster, PreflightCrd, PreflightFate,
    PreflightFinding, PreflightLevel, PreflightReply, PreflightReturn, PreflightValue, PreflightsReply,
};
pub use reply::{
    CancelReply, ClusterRollout, ClusterRolloutHealth, ClusterRolloutStatus, DeploymentApproval,
    DeploymentDetailReply, DeploymentGate, DeploymentList, DeploymentNews, DeploymentPause, DeploymentPhase,
    DeploymentReply, DeploymentStep, DeploymentWait, DeploymentWave, DeploymentWhy, FailedRollback,
    HealthWord, NewsReply, PhaseName, RollbackReply, RollbackStatusReply, RunningStep, StepResult,
    StepsReply, UninstallReply, WaveKind, WaveState,
};
pub use request::{
    Amount, BlueGreenConfig, CanaryConfig, CanaryLadder, CanaryWave, CancelRequest, DirectConfig, Emergency,
    ExtendRequest, Gate, HttpGate, PauseRequest, PrometheusGate, RetryRequest, RollbackRequest,
    RollbackScope, RollingConfig, SkipRequest, StartDeployment, StrategyConfig, UninstallRequest,
};

/// Values and names of objects can be long.
const LARGEST: usize = 1024 * 1024;

/// Begins.
pub const START: Endpoint =
    Endpoint::new(Method::Post, "/deployments", "startDeployment", Permission::Deploy, 10)
        .takes::<StartDeployment>()
        .gives::<DeploymentReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .up_to(LARGEST)
        .says("Roll a version out; a deployment that is under way on one of the clusters is a conflict");

/// Looks without touching.
pub const DRY_RUN: Endpoint =
    Endpoint::new(Method::Post, "/deployments/dry-run", "dryRunDeployment", Permission::Deploy, 10)
        .takes::<StartDeployment>()
        .gives::<DryRunReply>(200)
        .fails(&[400, 404, 413, 415])
        .up_to(LARGEST)
        .within(75)
        .says("Look at every cluster and say what a deployment would do there; nothing is changed or kept");

/// Lists.
pub const LIST: Endpoint =
    Endpoint::new(Method::Get, "/deployments", "listDeployments", Permission::Read, 60)
        .asks::<DeploymentsQuery>()
        .gives::<DeploymentList>(200)
        .fails(&[400])
        .says("List deployments, the newest first");

/// Shows.
pub const SHOW: Endpoint =
    Endpoint::new(Method::Get, "/deployments/{id}", "getDeployment", Permission::Read, 60)
        .gives::<DeploymentDetailReply>(200)
        .fails(&[404])
        .says("Show a deployment: its waves, its clusters, and what it waits for");

/// What it waits for.
pub const WHY: Endpoint =
    Endpoint::new(Method::Get, "/deployments/{id}/why", "getDeploymentWhy", Permission::Read, 60)
        .gives::<DeploymentWhy>(200)
        .fails(&[404])
        .says("What a deployment waits for, since when, until when, and what would unblock it");

/// What happened.
pub const NEWS: Endpoint =
    Endpoint::new(Method::Get, "/deployments/{id}/news", "listDeploymentNews", Permission::Read, 60)
        .asks::<NewsQuery>()
        .gives::<NewsReply>(200)
        .fails(&[400, 404])
        .says("What happened in a deployment, the oldest first");

/// What was found beforehand.
pub const PREFLIGHT: Endpoint =
    Endpoint::new(Method::Get, "/deployments/{id}/preflight", "getDeploymentPreflight", Permission::Read, 60)
        .gives::<PreflightsReply>(200)
        .fails(&[404])
        .says("What the last look at each cluster found before it was changed");

/// What was done.
pub const STEPS: Endpoint =
    Endpoint::new(Method::Get, "/deployments/{id}/steps", "listDeploymentSteps", Permission::Read, 60)
        .gives::<StepsReply>(200)
        .fails(&[404])
        .says("Every step on every cluster: when it was intended, begun and ended, and what came of it");

/// How far a rollback is.
pub const ROLLBACK_STATUS: Endpoint = Endpoint::new(
    Method::Get,
    "/deployments/{id}/rollback-status",
    "getDeploymentRollbackStatus",
    Permission::Read,
    60,
)
.gives::<RollbackStatusReply>(200)
.fails(&[404])
.says("How far taking a deployment back is, cluster by cluster");

/// Takes back.
pub const ROLLBACK: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/rollback", "rollBackDeployment", Permission::RollBack, 10)
        .takes::<RollbackRequest>()
        .gives::<RollbackReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .says("Take a deployment back: every cluster that was changed, or those that are named");

/// Ends, as the specification has it.
pub const REMOVE: Endpoint =
    Endpoint::new(Method::Delete, "/deployments/{id}", "cancelDeployment", Permission::Deploy, 10)
        .gives::<CancelReply>(202)
        .fails(&[404, 409])
        .says("Cancel: clusters that are being changed finish, the others are left out");

/// Ends, with a reason.
pub const CANCEL: Endpoint = Endpoint::new(
    Method::Post,
    "/deployments/{id}/cancel",
    "cancelDeploymentBecause",
    Permission::Deploy,
    10,
)
.takes::<CancelRequest>()
.gives::<CancelReply>(202)
.fails(&[400, 404, 409, 413, 415])
.says("Cancel and say why");

/// Holds.
pub const PAUSE: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/pause", "pauseDeployment", Permission::Deploy, 10)
        .takes::<PauseRequest>()
        .gives::<DeploymentReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .says("Begin nothing new; what runs finishes, and what hurts is still taken back");

/// Goes on.
pub const RESUME: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/resume", "resumeDeployment", Permission::Deploy, 10)
        .gives::<DeploymentReply>(202)
        .fails(&[404, 409])
        .says("Go on; what went wrong so far is accepted");

/// Tries again.
pub const RETRY: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/retry", "retryDeployment", Permission::Deploy, 10)
        .takes::<RetryRequest>()
        .gives::<DeploymentReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .says("Try clusters again that failed, were left out or could not be taken back");

/// Leaves out.
pub const SKIP: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/skip", "skipDeploymentCluster", Permission::Deploy, 10)
        .takes::<SkipRequest>()
        .gives::<DeploymentReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .says("Leave a cluster out, or accept that it failed");

/// Moves on.
pub const PROMOTE: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/promote", "promoteDeployment", Permission::Deploy, 10)
        .gives::<DeploymentReply>(202)
        .fails(&[404, 409])
        .says("Go on without waiting: past a soak or a rest, into what waits for this");

/// Watches for longer.
pub const EXTEND: Endpoint =
    Endpoint::new(Method::Post, "/deployments/{id}/extend", "extendDeploymentSoak", Permission::Deploy, 10)
        .takes::<ExtendRequest>()
        .gives::<DeploymentReply>(202)
        .fails(&[400, 404, 409, 413, 415])
        .says("Watch the present wave for longer");

/// Takes an operator away.
pub const UNINSTALL: Endpoint = Endpoint::new(
    Method::Post,
    "/operators/{name}/clusters/{cluster}/uninstall",
    "uninstallOperator",
    Permission::RemoveOperators,
    10,
)
.takes::<UninstallRequest>()
.gives::<UninstallReply>(200)
.fails(&[400, 404, 409, 413, 415])
.within(330)
.says("Take an operator off a cluster; CRDs and custom resources stay unless told otherwise");

/// Forgets where an operator is.
pub const UNMANAGE: Endpoint = Endpoint::new(
    Method::Post,
    "/operators/{name}/clusters/{cluster}/unmanage",
    "unmanageOperator",
    Permission::ManageOperators,
    10,
)
.gives_nothing(204)
.fails(&[404, 409])
.says("Forget that an operator on a cluster is ours; nothing there is touched");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    START,
    DRY_RUN,
    LIST,
    SHOW,
    WHY,
    NEWS,
    PREFLIGHT,
    STEPS,
    ROLLBACK_STATUS,
    ROLLBACK,
    REMOVE,
    CANCEL,
    PAUSE,
    RESUME,
    RETRY,
    SKIP,
    PROMOTE,
    EXTEND,
    UNINSTALL,
    UNMANAGE,
];

/// How far a deployment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum DeploymentStatus {
    /// Clusters are looked at and people asked; nothing is touched.
    Planning,
    /// Clusters are being changed.
    Deploying,
    /// What was changed is watched.
    Validating,
    /// Every target is on the version.
    Completed,
    /// It is being taken back.
    RollingBack,
    /// It was taken back.
    RolledBack,
    /// It ended otherwise.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// How a version goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum DeploymentStrategy {
    /// All at once.
    Direct,
    /// A few first, then more.
    Canary,
    /// One after the other.
    Rolling,
    /// Beside the old one, then a switch.
    BlueGreen,
}

/// Where a deployment goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum DeploymentEnvironment {
    /// For trying things.
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

/// What people say about a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum DeploymentApprovalStatus {
    /// Nobody has to be asked.
    NotRequired,
    /// Somebody has still to decide, or it is not known yet who.
    Pending,
    /// All agreed.
    Approved,
    /// Somebody said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// An admin went past it in an emergency.
    Bypassed,
}

/// Which deployments are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(rename_all = "camelCase")]
pub struct DeploymentsQuery {
    /// Of this operator.
    #[param(max_length = 63)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// In this status.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DeploymentStatus>,
    /// Started by this person or machine.
    #[param(max_length = 255)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiated_by: Option<String>,
    /// With this strategy.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<DeploymentStrategy>,
    /// That go to this cluster.
    #[param(max_length = 63)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// That go to this environment.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<DeploymentEnvironment>,
    /// Only those that have not ended, or only those that have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// Which news are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct NewsQuery {
    /// Only those after this number; they are counted from 1 without gaps.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}
