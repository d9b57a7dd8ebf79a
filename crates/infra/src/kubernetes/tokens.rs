//! Tokens of `ServiceAccounts`: asking for another one, and revoking one.
//!
//! A token is bound to a Secret where possible. Deleting that Secret revokes it within seconds, which the
//! end of its life would only do in a day.

use http::Request;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize;
use serde_json::json;
use slipway_domain::cluster::token::{BoundSecret, LIFETIME, TokenFacts};
use slipway_orchestrator::clusters::access::ClusterAccess;
use slipway_orchestrator::ports::clusters::{Binding, ClusterError};
use zeroize::Zeroizing;

use super::failure::failed;
use super::look::PATIENCE;
use super::{client, role};

#[derive(Deserialize)]
struct Reply {
    status: ReplyStatus,
}

#[derive(Deserialize)]
struct ReplyStatus {
    token: String,
}

/// Asks the cluster for a token of a ServiceAccount. Not by way of kube's own types: it would log a reply
/// that it cannot read, with the token in it.
pub(super) async fn request(
    client: &Client,
    namespace: &str,
    account: &str,
    secret: Option<&BoundSecret>,
) -> Result<String, kube::Error> {
    let bound = secret
        .map(|secret| json!({"apiVersion": "v1", "kind": "Secret", "name": secret.name, "uid": secret.uid}));
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": { "audiences": [], "expirationSeconds": LIFETIME.as_secs(), "boundObjectRef": bound },
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    let text = Zeroizing::new(client.request_text(request).await?);
    let reply: Reply = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
    Ok(reply.status.token)
}

/// Makes a Secret for tokens to be bound to. It holds nothing.
pub(super) async fn bind(
    client: &Client,
    facts: &TokenFacts,
    like: Option<&Secret>,
) -> Result<BoundSecret, kube::Error> {
    let secrets = Api::<Secret>::namespaced(client.clone(), &facts.namespace);
    let mut secret = role::token_secret(&facts.namespace);
    secret.metadata.owner_references = like.and_then(|like| like.metadata.owner_references.clone());
    let made = secrets.create(&PostParams::default(), &secret).await?;
    Ok(BoundSecret { name: made.name_any(), uid: made.uid().unwrap_or_default() })
}

pub(super) async fn renew(access: &ClusterAccess, binding: Binding) -> Result<ClusterAccess, ClusterError> {
    let facts = access.token_facts().ok_or(ClusterError::NotRenewable)?;
    let client = client::make(access).map_err(|_| ClusterError::NotRenewable)?;
    let what = format!("request a token for {}/{}", facts.namespace, facts.account);
    let renewing = async {
        let secret = match (binding, &facts.secret) {
            (Binding::Fresh, Some(old)) => {
                let secrets = Api::<Secret>::namespaced(client.clone(), &facts.namespace);
                let like = secrets.get_opt(&old.name).await?;
                Some(bind(&client, &facts, like.as_ref()).await?)
            }
            (_, same) => same.clone(),
        };
        request(&client, &facts.namespace, &facts.account, secret.as_ref()).await
    };
    let token = tokio::time::timeout(PATIENCE, renewing).await.map_err(|_| timeout())?;
    let token = token.map_err(|error| failed(&what, &error, PATIENCE.as_secs()))?;
    Ok(access.with_token(token))
}

pub(super) async fn revoke(old: &ClusterAccess, new: &ClusterAccess) -> Result<bool, ClusterError> {
    let Some((facts, secret)) = old.token_facts().and_then(|facts| facts.secret.clone().map(|s| (facts, s)))
    else {
        return Ok(false);
    };
    // The same Secret carries the new token, too.
    if new.token_facts().and_then(|facts| facts.secret).is_some_and(|other| other.uid == secret.uid) {
        return Ok(false);
    }
    let client = client::make(new).map_err(|_| ClusterError::NotRenewable)?;
    let secrets = Api::<Secret>::namespaced(client, &facts.namespace);
    let exact = DeleteParams {
        preconditions: Some(kube::api::Preconditions {
            uid: Some(secret.uid.clone()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let what = format!("delete the Secret {}/{}", facts.namespace, secret.name);
    let deleting = secrets.delete(&secret.name, &exact);
    match tokio::time::timeout(PATIENCE, deleting).await.map_err(|_| timeout())? {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        Err(error) => Err(failed(&what, &error, PATIENCE.as_secs())),
    }
}

pub(super) fn timeout() -> ClusterError {
    ClusterError::Unreachable(slipway_domain::cluster::Unreachable::Timeout(PATIENCE.as_secs()))
}
