//! A token of a cluster for one attempt at something: it dies with the Secret that it is bound to.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use slipway_domain::cluster::token::{BoundSecret, TokenFacts};
use slipway_domain::id::ClusterId;
use slipway_orchestrator::clusters::access::ClusterAccess;
use zeroize::Zeroizing;

use super::connections::{ConnectError, Connections};
use super::{client, role, tokens};

/// Why nothing was lent, or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LendError {
    /// The cluster cannot be talked to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The cluster said no, or nothing.
    #[error(transparent)]
    Cluster(#[from] Box<kube::Error>),
}

impl From<kube::Error> for LendError {
    fn from(error: kube::Error) -> Self {
        Self::Cluster(Box::new(error))
    }
}

impl Connections {
    /// A kubeconfig whose token is bound to a Secret of this name, next to the account's own: deleting it with
    /// [`Connections::take_back`] ends the token within seconds. Where the cluster is not reached with the token
    /// of a ServiceAccount, it is the cluster's own credential, which nobody can take back.
    pub async fn lend(&self, id: ClusterId, name: &str) -> Result<Zeroizing<String>, LendError> {
        let (access, facts) = self.facts(id).await?;
        let Some(facts) = facts else { return Ok(client::kubeconfig(&access)) };
        let client = self.client(id).await?;
        let secrets = Api::<Secret>::namespaced(client.clone(), &facts.namespace);
        let mut secret = role::token_secret(&facts.namespace);
        secret.metadata.generate_name = None;
        secret.metadata.name = Some(name.to_owned());
        if let Some(own) = &facts.secret {
            // It goes where the account goes.
            let own = secrets.get_opt(&own.name).await?;
            secret.metadata.owner_references = own.and_then(|own| own.metadata.owner_references);
        }
        let made = match secrets.create(&PostParams::default(), &secret).await {
            Err(kube::Error::Api(status)) if status.code == 409 => secrets.get(name).await?,
            other => other?,
        };
        let bound = BoundSecret { name: made.name_any(), uid: made.uid().unwrap_or_default() };
        let token = tokens::request(&client, &facts.namespace, &facts.account, Some(&bound)).await?;
        Ok(client::kubeconfig(&access.with_token(token)))
    }

    /// Ends the token of an attempt. Whether there was one.
    pub async fn take_back(&self, id: ClusterId, name: &str) -> Result<bool, LendError> {
        let (_, facts) = self.facts(id).await?;
        let Some(facts) = facts else { return Ok(false) };
        let secrets = Api::<Secret>::namespaced(self.client(id).await?, &facts.namespace);
        match secrets.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether what is lent can be taken back.
    pub async fn can_take_back(&self, id: ClusterId) -> Result<bool, LendError> {
        Ok(self.facts(id).await?.1.is_some())
    }

    async fn facts(&self, id: ClusterId) -> Result<(ClusterAccess, Option<TokenFacts>), LendError> {
        let (access, _) = self.open(id).await?;
        let facts = access.token_facts();
        Ok((access, facts))
    }
}
