//! Leaving a cluster: what Slipway made for itself there goes.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use slipway_domain::cluster::token::TokenFacts;
use slipway_orchestrator::clusters::access::ClusterAccess;
use slipway_orchestrator::ports::clusters::ClusterError;

use super::failure::failed;
use super::look::PATIENCE;
use super::{client, role, tokens};

/// Removes the ServiceAccount behind the token, with its binding and role. The binding owns the others, so
/// one deletion suffices: after it we have no rights to delete anything, and the cluster's own collector
/// removes the rest.
pub(super) async fn retire(access: &ClusterAccess) -> Result<bool, ClusterError> {
    let Some(facts) = access.token_facts() else { return Ok(false) };
    let client = client::make(access).map_err(|_| ClusterError::NotRenewable)?;
    let retiring = tokio::time::timeout(PATIENCE, remove(&client, &facts));
    retiring.await.map_err(|_| tokens::timeout())?
}

async fn remove(client: &Client, facts: &TokenFacts) -> Result<bool, ClusterError> {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), &facts.namespace);
    let what = format!("read the ServiceAccount {}/{}", facts.namespace, facts.account);
    let account = accounts.get_opt(&facts.account).await;
    let account = account.map_err(|error| failed(&what, &error, PATIENCE.as_secs()))?;
    // Whatever is not marked as ours was made by people, and they may need it.
    let Some(account) = account.filter(|account| role::is_ours(&account.metadata)) else { return Ok(false) };
    let owner = account.owner_references().iter().find(|owner| owner.kind == "ClusterRoleBinding");
    let Some(owner) = owner else { return Ok(false) };
    let exact = DeleteParams {
        preconditions: Some(Preconditions { uid: Some(owner.uid.clone()), resource_version: None }),
        ..DeleteParams::background()
    };
    let bindings = Api::<ClusterRoleBinding>::all(client.clone());
    let what = format!("delete the ClusterRoleBinding {}", owner.name);
    match bindings.delete(&owner.name, &exact).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        Err(error) => Err(failed(&what, &error, PATIENCE.as_secs())),
    }
}
