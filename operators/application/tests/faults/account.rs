//! A user that may do certain things only.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::{Value, json};

/// The name of the account, its role and its binding.
pub(crate) const ACCOUNT: &str = "operator";

/// What the operator needs for its Applications, children and Events.
pub(crate) fn rules() -> Vec<Value> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let all = ["get", "list", "watch", "create", "patch", "delete"];
    vec![
        rule("cloudnative.elide.dev", &["applications"], &["get", "list", "watch", "patch"]),
        rule("cloudnative.elide.dev", &["applications/status"], &["patch"]),
        rule("apps", &["deployments"], &all),
        rule("policy", &["poddisruptionbudgets"], &all),
        rule("", &["configmaps", "services"], &all),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ]
}

/// The configuration of a user who may do that and no more.
pub(crate) async fn account(client: &Client, admin: Config, rules: &[Value]) -> Config {
    let create = PostParams::default();
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let account = serde_json::from_value(json!({"metadata": {"name": ACCOUNT}})).unwrap();
    accounts.create(&create, &account).await.unwrap();
    let role = serde_json::from_value(json!({"metadata": {"name": ACCOUNT}, "rules": rules})).unwrap();
    Api::<ClusterRole>::all(client.clone()).create(&create, &role).await.unwrap();
    let binding = serde_json::from_value(json!({
        "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}],
    }))
    .unwrap();
    Api::<ClusterRoleBinding>::all(client.clone()).create(&create, &binding).await.unwrap();
    let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let token = accounts.create_token_request(ACCOUNT, &create, &request).await.unwrap();
    let token = token.status.and_then(|status| status.token).unwrap();
    let mut config = admin;
    config.auth_info = AuthInfo::default();
    config.auth_info.token = Some(token.into());
    config
}

/// Gives the user other permissions.
pub(crate) async fn grant(client: &Client, rules: &[Value]) {
    let change = Patch::Merge(json!({"rules": rules}));
    let api = Api::<ClusterRole>::all(client.clone());
    api.patch(ACCOUNT, &PatchParams::default(), &change).await.unwrap();
}
