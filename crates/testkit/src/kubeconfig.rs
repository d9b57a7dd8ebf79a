//! Kubeconfigs with embedded data only.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::certificates::Pair;

/// The kubeconfig of a user with a client certificate. JSON is YAML, and needs no care with quoting.
pub fn with_certificate(server: &str, authority: &str, user: &Pair) -> String {
    write(
        server,
        authority,
        &serde_json::json!({
            "client-certificate-data": STANDARD.encode(&user.certificate),
            "client-key-data": STANDARD.encode(&user.key),
        }),
    )
}

/// The kubeconfig of a user with a bearer token.
pub fn with_token(server: &str, authority: &str, token: &str) -> String {
    write(server, authority, &serde_json::json!({ "token": token }))
}

fn write(server: &str, authority: &str, user: &serde_json::Value) -> String {
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testkit", "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{"name": "testkit", "user": user}],
        "contexts": [{"name": "testkit", "context": {"cluster": "testkit", "user": "testkit"}}],
        "current-context": "testkit",
    });
    format!("{config:#}\n")
}

/// A client of the cluster that a kubeconfig names. It belongs to the runtime that made it.
pub async fn client(kubeconfig: &str) -> anyhow::Result<Client> {
    crate::init();
    let parsed = Kubeconfig::from_yaml(kubeconfig).context("reading a kubeconfig")?;
    let config = kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .context("using a kubeconfig")?;
    Client::try_from(config).context("making a client")
}
