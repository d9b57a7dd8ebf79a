//! How a cluster is reached: address, authority, credential. It is kept sealed, and shown to nobody.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::cluster::token::TokenFacts;
use slipway_domain::cluster::{CredentialFacts, CredentialKind};
use slipway_domain::id::ClusterId;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::ports::Keyring;
use crate::ports::keyring::KeyringError;

/// A text that is not shown, and wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text; for whoever sends it where it belongs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// What proves to a cluster who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// A bearer token.
    Token(Secret),
    /// A client's certificate and its key, PEM.
    Certificate {
        /// The certificate, perhaps with those above it.
        certificate: String,
        /// The key.
        key: Secret,
    },
}

/// How a cluster is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The address of the API server.
    pub server: String,
    /// The name in the server's certificate, where it is not the host of the address.
    pub server_name: Option<String>,
    /// The authorities that may sign the server's certificate, PEM; nothing means those of this machine.
    pub authority: Option<String>,
    /// The proxy in between, if a setting allows it.
    pub proxy: Option<String>,
    /// Who we are.
    pub credential: Credential,
}

/// As it is sealed. Only this form is ever written down, and it is wiped after that.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(rename_all = "camelCase")]
struct Written {
    server: String,
    server_name: Option<String>,
    authority: Option<String>,
    proxy: Option<String>,
    token: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl ClusterAccess {
    /// The context that the access of a cluster is sealed in.
    pub fn context(id: ClusterId) -> String {
        format!("cluster/{id}")
    }

    /// Encrypts it for one cluster.
    pub fn seal(&self, id: ClusterId, keyring: &dyn Keyring) -> Result<Vec<u8>, KeyringError> {
        let (token, certificate, key) = match &self.credential {
            Credential::Token(token) => (Some(token.expose().to_owned()), None, None),
            Credential::Certificate { certificate, key } => {
                (None, Some(certificate.clone()), Some(key.expose().to_owned()))
            }
        };
        let written = Written {
            server: self.server.clone(),
            server_name: self.server_name.clone(),
            authority: self.authority.clone(),
            proxy: self.proxy.clone(),
            token,
            certificate,
            key,
        };
        let plain = serde_json::to_vec(&written).map(Zeroizing::new);
        let plain = plain.map_err(|_| KeyringError::Unusable("the access cannot be written".to_owned()))?;
        keyring.seal(&Self::context(id), &plain)
    }

    /// Decrypts what was sealed for that cluster.
    pub fn open(id: ClusterId, sealed: &[u8], keyring: &dyn Keyring) -> Result<Self, KeyringError> {
        let plain = keyring.open(&Self::context(id), sealed)?;
        let mut written: Written = serde_json::from_slice(&plain).map_err(|_| KeyringError::Damaged)?;
        let parts = (written.token.take(), written.certificate.take(), written.key.take());
        let credential = match parts {
            (Some(token), None, None) => Credential::Token(token.into()),
            (None, Some(certificate), Some(key)) => Credential::Certificate { certificate, key: key.into() },
            _ => return Err(KeyringError::Damaged),
        };
        Ok(Self {
            server: std::mem::take(&mut written.server),
            server_name: written.server_name.take(),
            authority: written.authority.take(),
            proxy: written.proxy.take(),
            credential,
        })
    }

    /// The same with another token.
    #[must_use]
    pub fn with_token(&self, token: String) -> Self {
        Self { credential: Credential::Token(token.into()), ..self.clone() }
    }

    /// What the token says, if it is one of a ServiceAccount.
    pub fn token_facts(&self) -> Option<TokenFacts> {
        let Credential::Token(token) = &self.credential else { return None };
        let claims = token.expose().split('.').nth(1)?;
        TokenFacts::from_claims(&URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?)
    }

    /// What everybody may know of the credential.
    pub fn facts(&self, changed_at: Timestamp) -> CredentialFacts {
        let facts = self.token_facts();
        let kind = match (&self.credential, &facts) {
            (Credential::Certificate { .. }, _) => CredentialKind::ClientCertificate,
            (Credential::Token(_), Some(_)) => CredentialKind::ServiceAccountToken,
            (Credential::Token(_), None) => CredentialKind::Token,
        };
        CredentialFacts { kind, expires_at: facts.and_then(|facts| facts.expires_at), changed_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seals by writing the context in front; enough to see what is sealed for whom.
    struct Plain;

    impl Keyring for Plain {
        fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, KeyringError> {
            Ok([context.as_bytes(), b"|", plain].concat())
        }

        fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
            let plain = sealed.strip_prefix(format!("{context}|").as_bytes());
            plain.map(|plain| plain.to_vec().into()).ok_or(KeyringError::Damaged)
        }

        fn is_old(&self, _: &[u8]) -> bool {
            false
        }
    }

    fn access(credential: Credential) -> ClusterAccess {
        ClusterAccess {
            server: "https://api.example:6443".to_owned(),
            server_name: None,
            authority: Some("-----BEGIN\nPEM\n".to_owned()),
            proxy: None,
            credential,
        }
    }

    #[test]
    fn access_comes_back_as_it_was_for_its_own_cluster_only() {
        let (one, two) = (ClusterId(uuid::Uuid::from_u128(1)), ClusterId(uuid::Uuid::from_u128(2)));
        let key = Credential::Certificate { certificate: "c\n".to_owned(), key: "hush\n".to_owned().into() };
        for credential in [Credential::Token("hush".to_owned().into()), key] {
            let access = access(credential);
            let sealed = access.seal(one, &Plain).unwrap();
            assert_eq!(ClusterAccess::open(one, &sealed, &Plain).unwrap(), access);
            assert_eq!(ClusterAccess::open(two, &sealed, &Plain), Err(KeyringError::Damaged));
            assert!(!format!("{access:?}").contains("hush"));
        }
    }

    #[test]
    fn a_token_tells_its_kind() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"system:serviceaccount:a:b","exp":6000}"#);
        let account = access(Credential::Token(format!("e30.{claims}.sig").into()));
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(account.facts(now).kind, CredentialKind::ServiceAccountToken);
        assert_eq!(account.facts(now).expires_at, Timestamp::from_second(6000).ok());
        let other = access(Credential::Token("opaque".to_owned().into()));
        assert_eq!(other.facts(now).kind, CredentialKind::Token);
    }
}
