//! What the token of a ServiceAccount says about itself, and when to renew it.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

/// How long a token is asked for: long enough for a night without a server, short enough to be of little
/// use to a thief of yesterday's backup.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// The ServiceAccount behind a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFacts {
    /// The namespace of the ServiceAccount.
    pub namespace: String,
    /// The name of the ServiceAccount.
    pub account: String,
    /// The Secret whose deletion revokes the token.
    pub secret: Option<BoundSecret>,
    /// When it was made.
    pub issued_at: Option<Timestamp>,
    /// When it ends; nothing if it never does.
    pub expires_at: Option<Timestamp>,
}

/// A Secret that a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BoundSecret {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    iat: Option<i64>,
    exp: Option<i64>,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Option<Kubernetes>,
}

#[derive(Deserialize)]
struct Kubernetes {
    secret: Option<BoundSecret>,
}

impl TokenFacts {
    /// What the claims of a token say; nothing if it is not one of a ServiceAccount. Nobody is trusted
    /// because of it: the cluster alone judges the token.
    pub fn from_claims(claims: &[u8]) -> Option<Self> {
        let claims: Claims = serde_json::from_slice(claims).ok()?;
        let (namespace, account) = claims.sub.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        let at = |seconds: Option<i64>| seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        Some(Self {
            namespace: namespace.to_owned(),
            account: account.to_owned(),
            secret: claims.kubernetes.and_then(|kubernetes| kubernetes.secret),
            issued_at: at(claims.iat),
            expires_at: at(claims.exp),
        })
    }

    /// When to renew it: after a third of its life, so that there is time to try again. Nothing if it
    /// never ends.
    pub fn renew_at(&self) -> Option<Timestamp> {
        let ends = self.expires_at?;
        let begins = self.issued_at.filter(|begins| *begins < ends).unwrap_or(ends);
        begins.checked_add(ends.duration_since(begins) / 3).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_account_and_is_renewed_after_a_third_of_its_life() {
        let claims = br#"{
            "iss": "https://kubernetes.default.svc", "aud": ["https://kubernetes.default.svc"],
            "iat": 3000, "exp": 6000, "sub": "system:serviceaccount:slipway-system:slipway-manager",
            "kubernetes.io": {"namespace": "slipway-system", "secret": {"name": "s", "uid": "u"}}
        }"#;
        let facts = TokenFacts::from_claims(claims).unwrap();
        assert_eq!((&*facts.namespace, &*facts.account), ("slipway-system", "slipway-manager"));
        assert_eq!(facts.secret.as_ref().unwrap().name, "s");
        assert_eq!(facts.renew_at(), Timestamp::from_second(4000).ok());
    }

    #[test]
    fn a_token_without_an_end_is_not_renewed_and_others_are_not_ours() {
        let old = br#"{"sub": "system:serviceaccount:a:b"}"#;
        assert_eq!(TokenFacts::from_claims(old).unwrap().renew_at(), None);
        assert_eq!(TokenFacts::from_claims(br#"{"sub": "ada"}"#), None);
        assert_eq!(TokenFacts::from_claims(b"junk"), None);
        let odd = br#"{"sub": "system:serviceaccount:a:b", "exp": 6000, "iat": 9000}"#;
        assert_eq!(TokenFacts::from_claims(odd).unwrap().renew_at(), Timestamp::from_second(6000).ok());
    }
}
