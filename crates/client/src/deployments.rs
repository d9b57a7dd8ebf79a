//! Deployments.

use serde::Serialize;
use slipway_contract::deployments::{
    CANCEL, CancelReply, CancelRequest, DRY_RUN, DeploymentDetailReply, DeploymentList, DeploymentReply,
    DeploymentWhy, DeploymentsQuery, DryRunReply, EXTEND, ExtendRequest, LIST, NEWS, NewsQuery, NewsReply,
    PAUSE, PREFLIGHT, PROMOTE, PauseRequest, PreflightsReply, RESUME, RETRY, ROLLBACK, ROLLBACK_STATUS,
    RetryRequest, RollbackReply, RollbackRequest, RollbackStatusReply, SHOW, SKIP, START, STEPS, SkipRequest,
    StepsReply, UNINSTALL, UNMANAGE, UninstallReply, UninstallRequest, WHY,
};

use crate::{Client, ClientError};

impl Client {
    /// Rolls a version out: a `StartDeployment`, or the same as JSON.
    pub async fn start_deployment(&self, request: &impl Serialize) -> Result<DeploymentReply, ClientError> {
        self.call(&START, &[]).body(request).send().await
    }

    /// Says what a deployment would do.
    pub async fn dry_run(&self, request: &impl Serialize) -> Result<DryRunReply, ClientError> {
        self.call(&DRY_RUN, &[]).body(request).send().await
    }

    /// A part of the deployments.
    pub async fn deployments(&self, query: &DeploymentsQuery) -> Result<DeploymentList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// A deployment, by its id or by the beginning of it.
    pub async fn deployment(&self, id: &str) -> Result<DeploymentDetailReply, ClientError> {
        self.call(&SHOW, &[id]).send().await
    }

    /// What a deployment waits for.
    pub async fn deployment_why(&self, id: &str) -> Result<DeploymentWhy, ClientError> {
        self.call(&WHY, &[id]).send().await
    }

    /// What happened in a deployment after a number.
    pub async fn deployment_news(&self, id: &str, after: i64) -> Result<NewsReply, ClientError> {
        self.call(&NEWS, &[id]).query(&NewsQuery { after: Some(after) }).send().await
    }

    /// What was found before clusters were changed.
    pub async fn deployment_preflight(&self, id: &str) -> Result<PreflightsReply, ClientError> {
        self.call(&PREFLIGHT, &[id]).send().await
    }

    /// Every step on every cluster.
    pub async fn deployment_steps(&self, id: &str) -> Result<StepsReply, ClientError> {
        self.call(&STEPS, &[id]).send().await
    }

    /// How far taking a deployment back is.
    pub async fn rollback_status(&self, id: &str) -> Result<RollbackStatusReply, ClientError> {
        self.call(&ROLLBACK_STATUS, &[id]).send().await
    }

    /// Takes a deployment back.
    pub async fn roll_back(&self, id: &str, request: &RollbackRequest) -> Result<RollbackReply, ClientError> {
        self.call(&ROLLBACK, &[id]).body(request).send().await
    }

    /// Ends a deployment.
    pub async fn cancel_deployment(
        &self,
        id: &str,
        request: &CancelRequest,
    ) -> Result<CancelReply, ClientError> {
        self.call(&CANCEL, &[id]).body(request).send().await
    }

    /// Holds a deployment.
    pub async fn pause_deployment(
        &self,
        id: &str,
        request: &PauseRequest,
    ) -> Result<DeploymentReply, ClientError> {
        self.call(&PAUSE, &[id]).body(request).send().await
    }

    /// Goes on with a deployment.
    pub async fn resume_deployment(&self, id: &str) -> Result<DeploymentReply, ClientError> {
        self.call(&RESUME, &[id]).send().await
    }

    /// Tries clusters again.
    pub async fn retry_deployment(
        &self,
        id: &str,
        request: &RetryRequest,
    ) -> Result<DeploymentReply, ClientError> {
        self.call(&RETRY, &[id]).body(request).send().await
    }

    /// Leaves a cluster out.
    pub async fn skip_cluster(
        &self,
        id: &str,
        request: &SkipRequest,
    ) -> Result<DeploymentReply, ClientError> {
        self.call(&SKIP, &[id]).body(request).send().await
    }

    /// Moves a deployment on without waiting.
    pub async fn promote_deployment(&self, id: &str) -> Result<DeploymentReply, ClientError> {
        self.call(&PROMOTE, &[id]).send().await
    }

    /// Watches the present wave for longer.
    pub async fn extend_deployment(
        &self,
        id: &str,
        request: &ExtendRequest,
    ) -> Result<DeploymentReply, ClientError> {
        self.call(&EXTEND, &[id]).body(request).send().await
    }

    /// Takes an operator off a cluster.
    pub async fn uninstall_operator(
        &self,
        operator: &str,
        cluster: &str,
        request: &UninstallRequest,
    ) -> Result<UninstallReply, ClientError> {
        self.call(&UNINSTALL, &[operator, cluster]).body(request).send().await
    }

    /// Forgets that an operator on a cluster is ours.
    pub async fn unmanage_operator(&self, operator: &str, cluster: &str) -> Result<(), ClientError> {
        self.call(&UNMANAGE, &[operator, cluster]).send_only().await
    }
}
