//! A client of one cluster, made from how it is reached.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use slipway_orchestrator::clusters::access::{ClusterAccess, Credential};
use zeroize::Zeroizing;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an API server may be silent, and how long it may take to hear us.
const SILENCE: Duration = Duration::from_secs(30);

/// Why no client can be made. It names no content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The address is none.
    #[error("holds an address that cannot be used")]
    Address,
    /// The authority is none.
    #[error("holds an authority that cannot be read")]
    Authority,
    /// The credential is none.
    #[error("holds a credential that cannot be used")]
    Credential,
    /// The parts do not fit together, such as a certificate and another's key.
    #[error(
        "cannot be used: a certificate and a key that do not belong together, \
         or a proxy of a kind that is not supported"
    )]
    Parts(#[source] kube::Error),
}

/// Makes a client. Nothing is contacted yet.
pub(super) fn make(access: &ClusterAccess) -> Result<kube::Client, ClientError> {
    let server = access.server.parse().map_err(|_| ClientError::Address)?;
    let mut config = kube::Config::new(server);
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(SILENCE);
    config.write_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    // Whoever calls knows whether to try again.
    config.default_retry = false;
    config.tls_server_name.clone_from(&access.server_name);
    config.proxy_url =
        access.proxy.as_ref().map(|proxy| proxy.parse()).transpose().map_err(|_| ClientError::Address)?;
    if let Some(authority) = &access.authority {
        let certificates = CertificateDer::pem_slice_iter(authority.as_bytes())
            .map(|certificate| certificate.map(|certificate| certificate.to_vec()))
            .collect::<Result<Vec<_>, _>>();
        config.root_cert = Some(certificates.map_err(|_| ClientError::Authority)?);
    }
    config.auth_info = serde_json::from_value(user(access)).map_err(|_| ClientError::Credential)?;
    kube::Client::try_from(config).map_err(ClientError::Parts)
}

/// The part of a kubeconfig that says who we are.
fn user(access: &ClusterAccess) -> Value {
    match &access.credential {
        Credential::Token(token) => json!({ "token": token.expose() }),
        Credential::Certificate { certificate, key } => json!({
            "client-certificate-data": STANDARD.encode(certificate),
            "client-key-data": STANDARD.encode(key.expose()),
        }),
    }
}

/// A kubeconfig with the same content, for programs such as helm. JSON is YAML, and needs no care with
/// quoting.
pub(super) fn kubeconfig(access: &ClusterAccess) -> Zeroizing<String> {
    let mut cluster = json!({ "server": access.server });
    let optional = [
        ("certificate-authority-data", access.authority.as_ref().map(|authority| STANDARD.encode(authority))),
        ("tls-server-name", access.server_name.clone()),
        ("proxy-url", access.proxy.clone()),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            cluster[key] = value.into();
        }
    }
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "cluster", "cluster": cluster }],
        "users": [{ "name": "slipway", "user": user(access) }],
        "contexts": [{ "name": "slipway", "context": { "cluster": "cluster", "user": "slipway" } }],
        "current-context": "slipway",
    });
    Zeroizing::new(config.to_string())
}
