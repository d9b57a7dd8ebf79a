//! Preparing a cluster for Slipway, with the rights of whoever owns it: a ServiceAccount, its role, a token.
//!
//! It runs where the person is. What a run made is taken back when a later step fails; what was there
//! before stays.

use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use slipway_domain::cluster::token::BoundSecret;
use zeroize::Zeroizing;

use super::{role, tokens};

/// Which rights the account gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Those of the documented role, which is made.
    Documented,
    /// Those of a `ClusterRole` that is there.
    Existing(String),
}

/// Why a cluster could not be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolError {
    /// A step was refused.
    #[error("could not {doing}")]
    Step {
        /// What was tried.
        doing: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// The role is not there.
    #[error("the cluster has no ClusterRole {0}; see those it has: kubectl get clusterroles")]
    NoRole(String),
    /// Something of that name is not ours.
    #[error("{0} is there already and was not made by Slipway; rename or remove it first")]
    Foreign(String),
}

/// Something that was made, to be taken back.
#[derive(Debug, Clone)]
enum Made {
    Namespace,
    Role,
    Binding,
    Account,
    Secret(String),
}

/// A cluster that is prepared. Take it back with [`undo`](Enrolment::undo) if nobody uses the token.
pub struct Enrolment {
    /// The account's token.
    pub token: Zeroizing<String>,
    made: Vec<Made>,
    client: Client,
}

impl std::fmt::Debug for Enrolment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Enrolment").field("made", &self.made).finish_non_exhaustive()
    }
}

/// Prepares a cluster. A failure leaves it as it was.
pub async fn enrol(client: &Client, rights: &Rights) -> Result<Enrolment, EnrolError> {
    let mut steps = Steps { client: client.clone(), made: Vec::new() };
    match steps.run(rights).await {
        Ok(token) => Ok(Enrolment { token: token.into(), made: steps.made, client: client.clone() }),
        Err(error) => {
            undo(client, steps.made).await;
            Err(error)
        }
    }
}

impl Enrolment {
    /// Takes back what this run made. What cannot be removed is named.
    pub async fn undo(self) -> Vec<String> {
        undo(&self.client, self.made).await
    }
}

struct Steps {
    client: Client,
    made: Vec<Made>,
}

impl Steps {
    async fn run(&mut self, rights: &Rights) -> Result<String, EnrolError> {
        let client = self.client.clone();
        self.make(
            &Api::<Namespace>::all(client.clone()),
            &role::namespace(),
            Made::Namespace,
            Ours::NeedNotBe,
        )
        .await?;
        let roles = Api::<ClusterRole>::all(client.clone());
        let bound = match rights {
            Rights::Documented => {
                self.make(&roles, &role::cluster_role(), Made::Role, Ours::MustBe).await?;
                role::NAME
            }
            Rights::Existing(name) => {
                let found = roles.get_opt(name).await.map_err(step("read ClusterRoles"))?;
                found.ok_or_else(|| EnrolError::NoRole(name.clone()))?;
                name
            }
        };
        let bindings = Api::<ClusterRoleBinding>::all(client.clone());
        let binding = self.make(&bindings, &role::binding(bound), Made::Binding, Ours::MustBe).await?;
        if binding.role_ref.name != bound {
            // A binding's role cannot be changed.
            return Err(EnrolError::Foreign(format!(
                "the ClusterRoleBinding {}, to the role {},",
                role::NAME,
                binding.role_ref.name
            )));
        }
        let owner = owner(&binding);
        if *rights == Rights::Documented {
            // One that was there may be of an older version, or belong to a binding that is gone.
            let current = json!({
                "metadata": {"ownerReferences": [owner]},
                "rules": role::cluster_role().rules,
            });
            roles
                .patch(role::NAME, &PatchParams::default(), &Patch::Merge(current))
                .await
                .map_err(step("change the ClusterRole"))?;
        }
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), role::NAMESPACE);
        let account = role::account(&owner);
        let there = self.make(&accounts, &account, Made::Account, Ours::MustBe).await?;
        if there.owner_references() != account.owner_references() {
            // Its old owner is gone, and the cluster's collector would take it away.
            let kept = json!({"metadata": {"ownerReferences": [owner]}});
            accounts
                .patch(role::NAME, &PatchParams::default(), &Patch::Merge(kept))
                .await
                .map_err(step("change the ServiceAccount"))?;
        }
        let secret = self.secret(&owner).await?;
        tokens::request(&client, role::NAMESPACE, role::NAME, Some(&secret))
            .await
            .map_err(step("request a token for the ServiceAccount"))
    }

    /// Makes an object, or takes the one that is there if it is ours.
    async fn make<K>(&mut self, api: &Api<K>, object: &K, made: Made, ours: Ours) -> Result<K, EnrolError>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        let what = format!("{} {}", K::kind(&()), object.name_any());
        match api.create(&PostParams::default(), object).await {
            Ok(object) => {
                self.made.push(made);
                Ok(object)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let there = api.get(&object.name_any()).await.map_err(step(&format!("read the {what}")))?;
                if ours == Ours::MustBe && !role::is_ours(there.meta()) {
                    return Err(EnrolError::Foreign(format!("the {what}")));
                }
                Ok(there)
            }
            Err(error) => Err(step(&format!("make the {what}"))(error)),
        }
    }

    async fn secret(&mut self, owner: &OwnerReference) -> Result<BoundSecret, EnrolError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), role::NAMESPACE);
        let mut secret = role::token_secret(role::NAMESPACE);
        secret.metadata.owner_references = Some(vec![owner.clone()]);
        let made = secrets.create(&PostParams::default(), &secret).await;
        let made = made.map_err(step("make the Secret that the token is bound to"))?;
        self.made.push(Made::Secret(made.name_any()));
        Ok(BoundSecret { name: made.name_any(), uid: made.uid().unwrap_or_default() })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ours {
    MustBe,
    NeedNotBe,
}

fn step(doing: &str) -> impl FnOnce(kube::Error) -> EnrolError {
    let doing = doing.to_owned();
    move |source| EnrolError::Step { doing, source: Box::new(source) }
}

fn owner(binding: &ClusterRoleBinding) -> OwnerReference {
    OwnerReference {
        api_version: "rbac.authorization.k8s.io/v1".to_owned(),
        kind: "ClusterRoleBinding".to_owned(),
        name: binding.name_any(),
        uid: binding.uid().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// Removes what was made, the last first. What is left is named.
async fn undo(client: &Client, made: Vec<Made>) -> Vec<String> {
    let mut left = Vec::new();
    for made in made.into_iter().rev() {
        let outcome = match &made {
            Made::Namespace => delete(&Api::<Namespace>::all(client.clone()), role::NAMESPACE).await,
            Made::Role => delete(&Api::<ClusterRole>::all(client.clone()), role::NAME).await,
            Made::Binding => delete(&Api::<ClusterRoleBinding>::all(client.clone()), role::NAME).await,
            Made::Account => delete(&within::<ServiceAccount>(client), role::NAME).await,
            Made::Secret(name) => delete(&within::<Secret>(client), name).await,
        };
        left.extend(outcome.err());
    }
    left
}

fn within<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(client: &Client) -> Api<K> {
    Api::namespaced(client.clone(), role::NAMESPACE)
}

async fn delete<K>(api: &Api<K>, name: &str) -> Result<(), String>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    match api.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(_) => Err(format!("{} {name}", K::kind(&()))),
    }
}
