//! Operators.

use slipway_contract::operators::{
    ADOPT, AdoptRelease, DISCOVER, DeployedCluster, INSTALLED, InstallationsReply, LIST, OperatorDetailReply,
    OperatorReply, OperatorsQuery, OperatorsReply, PROFILE, ProfileReply, REFRESH, REGISTER, REMOVE,
    RegisterOperator, SHOW, UPDATE, UpdateOperator, VERSIONS, VersionsReply,
};

use crate::{Client, ClientError, Tagged};

impl Client {
    /// Registers an operator.
    pub async fn register_operator(&self, operator: &RegisterOperator) -> Result<OperatorReply, ClientError> {
        self.call(&REGISTER, &[]).body(operator).send().await
    }

    /// Operators, by name.
    pub async fn operators(&self, query: &OperatorsQuery) -> Result<OperatorsReply, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// An operator, with its tag.
    pub async fn operator(&self, name: &str) -> Result<Tagged<OperatorDetailReply>, ClientError> {
        self.call(&SHOW, &[name]).send_tagged().await
    }

    /// Changes an operator, if it still has the tag.
    pub async fn update_operator(
        &self,
        name: &str,
        change: &UpdateOperator,
        tag: Option<&str>,
    ) -> Result<Tagged<OperatorDetailReply>, ClientError> {
        self.call(&UPDATE, &[name]).if_match(tag).body(change).send_tagged().await
    }

    /// Forgets an operator.
    pub async fn remove_operator(&self, name: &str) -> Result<(), ClientError> {
        self.call(&REMOVE, &[name]).send_only().await
    }

    /// The versions of an operator, as its repository offered them when it was last read.
    pub async fn operator_versions(&self, name: &str) -> Result<VersionsReply, ClientError> {
        self.call(&VERSIONS, &[name]).send().await
    }

    /// Reads an operator's repository now.
    pub async fn refresh_operator(&self, name: &str) -> Result<VersionsReply, ClientError> {
        self.call(&REFRESH, &[name]).send().await
    }

    /// What has to be known to roll an operator out.
    pub async fn operator_profile(&self, name: &str) -> Result<ProfileReply, ClientError> {
        self.call(&PROFILE, &[name]).send().await
    }

    /// Hands a release to Slipway.
    pub async fn adopt(
        &self,
        operator: &str,
        release: &AdoptRelease,
    ) -> Result<DeployedCluster, ClientError> {
        self.call(&ADOPT, &[operator]).body(release).send().await
    }

    /// What is installed on a cluster, as it was last seen.
    pub async fn installations(&self, cluster: &str) -> Result<InstallationsReply, ClientError> {
        self.call(&INSTALLED, &[cluster]).send().await
    }

    /// Looks at a cluster now.
    pub async fn discover(&self, cluster: &str) -> Result<InstallationsReply, ClientError> {
        self.call(&DISCOVER, &[cluster]).send().await
    }
}
