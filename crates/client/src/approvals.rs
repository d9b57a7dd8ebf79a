//! Approvals.

use slipway_contract::approvals::{
    APPROVE, Approval, ApprovalList, ApprovalsQuery, ApproveReply, ApproveRequest, BREAK_GLASS,
    BreakGlassReply, BreakGlassRequest, LIST, REJECT, RejectReply, RejectRequest, SHOW,
};

use crate::{Client, ClientError};

impl Client {
    /// A part of the approvals.
    pub async fn approvals(&self, query: &ApprovalsQuery) -> Result<ApprovalList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// One approval with its history.
    pub async fn approval(&self, id: &str) -> Result<Approval, ClientError> {
        self.call(&SHOW, &[id]).send().await
    }

    /// Says yes.
    pub async fn approve(&self, id: &str, request: &ApproveRequest) -> Result<ApproveReply, ClientError> {
        self.call(&APPROVE, &[id]).body(request).send().await
    }

    /// Says no.
    pub async fn reject(&self, id: &str, request: &RejectRequest) -> Result<RejectReply, ClientError> {
        self.call(&REJECT, &[id]).body(request).send().await
    }

    /// Goes past an approval in an emergency.
    pub async fn break_glass(
        &self,
        id: &str,
        request: &BreakGlassRequest,
    ) -> Result<BreakGlassReply, ClientError> {
        self.call(&BREAK_GLASS, &[id]).body(request).send().await
    }
}
