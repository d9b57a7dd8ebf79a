//! Approvals: decisions that people make before a rollout goes on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::endpoint::{Endpoint, Method};
use crate::page::PageInfo;

/// What waits for a decision, and what was decided.
pub const LIST: Endpoint =
    Endpoint::new(Method::Get, "/approvals", "listApprovals", Permission::ReadApprovals, 60)
        .asks::<ApprovalsQuery>()
        .gives::<ApprovalList>(200)
        .fails(&[400])
        .says("List approvals: those that wait, unless a status is named");

/// One approval with its history.
pub const SHOW: Endpoint =
    Endpoint::new(Method::Get, "/approvals/{id}", "getApproval", Permission::ReadApprovals, 60)
        .gives::<Approval>(200)
        .fails(&[404])
        .says("Show an approval and everything that was decided");

/// A yes.
pub const APPROVE: Endpoint =
    Endpoint::new(Method::Post, "/approvals/{id}/approve", "approveApproval", Permission::Decide, 10)
        .takes::<ApproveRequest>()
        .gives::<ApproveReply>(200)
        .fails(&[400, 404, 409])
        .says("Approve; where several people have to agree, the status stays Pending until they did");

/// A no.
pub const REJECT: Endpoint =
    Endpoint::new(Method::Post, "/approvals/{id}/reject", "rejectApproval", Permission::Decide, 10)
        .takes::<RejectRequest>()
        .gives::<RejectReply>(200)
        .fails(&[400, 404, 409])
        .says("Reject, which ends it");

/// Past it, in an emergency.
pub const BREAK_GLASS: Endpoint = Endpoint::new(
    Method::Post,
    "/approvals/{id}/break-glass",
    "breakGlassApproval",
    Permission::BreakGlass,
    10,
)
.takes::<BreakGlassRequest>()
.gives::<BreakGlassReply>(200)
.fails(&[400, 404, 409])
.says("Go past an approval in an emergency; everybody who answers for the environment is told");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[LIST, SHOW, APPROVE, REJECT, BREAK_GLASS];

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ApprovalType {
    /// May it go to production?
    ProductionDeployment,
    /// May an operator that runs in production get another version?
    OperatorVersionUpgrade,
    /// May a schema change in production that breaks what is there?
    BreakingCrdChange,
}

/// How far an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ApprovalStatus {
    /// It waits for people.
    Pending,
    /// Every level agreed.
    Approved,
    /// Somebody said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// What it was about changed, or is no more.
    Lapsed,
    /// An admin went past it in an emergency.
    Bypassed,
}

/// Which states are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ApprovalStatusFilter {
    /// What waits.
    #[default]
    Pending,
    /// Every level agreed.
    Approved,
    /// Somebody said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// What it was about changed, or is no more.
    Lapsed,
    /// An admin went past it in an emergency.
    Bypassed,
    /// All of them.
    All,
}

/// Where a rollout goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ApprovalEnvironment {
    /// For trying things.
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

/// What somebody answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ApprovalVerdict {
    /// Yes.
    Approved,
    /// No.
    Rejected,
    /// An emergency.
    Bypassed,
}

/// Which approvals are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalsQuery {
    /// In this state; `Pending` where nothing is said, `All` for all.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ApprovalStatusFilter>,
    /// Of this type.
    #[param(inline)]
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<ApprovalType>,
    /// For this environment.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<ApprovalEnvironment>,
    /// Of this operator.
    #[param(max_length = 63)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// Only those that you can decide now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mine: Option<bool>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// A part of the approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// The newest first.
    pub approvals: Vec<Approval>,
    /// Which part.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Which.
    pub approval_id: Uuid,
    /// What is asked.
    #[serde(rename = "type")]
    pub kind: ApprovalType,
    /// The deployment that waits for it.
    pub deployment_id: Uuid,
    /// The operator that is rolled out.
    pub operator_name: String,
    /// To which version.
    pub target_version: String,
    /// Into which environment.
    pub environment: ApprovalEnvironment,
    /// How far it is.
    pub status: ApprovalStatus,
    /// Why it is asked.
    pub because: String,
    /// Who started the deployment.
    pub initiated_by: String,
    /// The hash of the plan that the decision is about.
    pub plan_hash: String,
    /// Whether whoever started it must not approve it.
    pub four_eyes: bool,
    /// Who decides, in order.
    pub levels: Vec<ApprovalLevel>,
    /// Who decides next, in words.
    pub waits_for: Option<String>,
    /// Whether you can decide it now.
    pub can_decide: bool,
    /// What was decided, in order.
    pub decisions: Vec<ApprovalDecision>,
    /// Since when it waits.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Until when it can be decided.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Why it lapsed.
    pub lapsed_because: Option<String>,
}

/// One step of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalLevel {
    /// Who may decide: `EnvironmentOwner`, `Admin` or `user:NAME`.
    pub by: Vec<String>,
    /// How many of them have to agree.
    pub quorum: u32,
    /// How many did.
    pub agreed: u32,
}

/// What somebody decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// Who.
    pub by: String,
    /// What.
    pub verdict: ApprovalVerdict,
    /// In which level, from 1.
    pub level: u32,
    /// What they wrote.
    pub notes: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A yes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveRequest {
    /// What you add.
    #[schema(max_length = 2000)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The hash of the plan that you looked at; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// What became of a yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveReply {
    /// Which.
    pub approval_id: Uuid,
    /// How far it is: `Pending` where more people have to agree.
    pub status: ApprovalStatus,
    /// Who.
    pub approved_by: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub approved_at: Timestamp,
}

/// A no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RejectRequest {
    /// Why.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// The hash of the plan that you looked at; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// What became of a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectReply {
    /// Which.
    pub approval_id: Uuid,
    /// How far it is.
    pub status: ApprovalStatus,
    /// Who.
    pub rejected_by: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub rejected_at: Timestamp,
    /// Why.
    pub reason: String,
}

/// An emergency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BreakGlassRequest {
    /// Why it cannot wait.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakGlassReply {
    /// Which.
    pub approval_id: Uuid,
    /// How far it is.
    pub status: ApprovalStatus,
    /// Who.
    pub bypassed_by: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub bypassed_at: Timestamp,
    /// Why.
    pub reason: String,
}

mod domain {
    //! The same words in the domain.

    use slipway_domain::access::Environment;
    use slipway_domain::approval::{ApprovalKind, ApprovalStatus as Status, Verdict};

    use super::{ApprovalEnvironment, ApprovalStatus, ApprovalStatusFilter, ApprovalType, ApprovalVerdict};

    macro_rules! same {
        ($domain:ident <=> $wire:ident: $($word:ident),+) => {
            impl From<$domain> for $wire {
                fn from(word: $domain) -> Self {
                    match word { $($domain::$word => Self::$word),+ }
                }
            }

            impl From<$wire> for $domain {
                fn from(word: $wire) -> Self {
                    match word { $($wire::$word => Self::$word),+ }
                }
            }
        };
    }

    same!(ApprovalKind <=> ApprovalType: ProductionDeployment, OperatorVersionUpgrade, BreakingCrdChange);
    same!(Status <=> ApprovalStatus: Pending, Approved, Rejected, Expired, Lapsed, Bypassed);
    same!(Environment <=> ApprovalEnvironment: Development, Staging, Production);
    same!(Verdict <=> ApprovalVerdict: Approved, Rejected, Bypassed);

    impl ApprovalStatusFilter {
        /// The one state that is wanted; nothing means all.
        pub fn status(self) -> Option<Status> {
            match self {
                Self::Pending => Some(Status::Pending),
                Self::Approved => Some(Status::Approved),
                Self::Rejected => Some(Status::Rejected),
                Self::Expired => Some(Status::Expired),
                Self::Lapsed => Some(Status::Lapsed),
                Self::Bypassed => Some(Status::Bypassed),
                Self::All => None,
            }
        }
    }
}
