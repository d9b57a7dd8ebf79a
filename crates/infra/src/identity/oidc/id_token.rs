//! Whether an ID token is to be believed.

use aws_lc_rs::digest::{SHA256, SHA384, SHA512, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;

/// Signatures that only the issuer can make. Nothing that shares a secret is among them.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// How far the issuer's clock may be off, in seconds.
const SKEW: u64 = 60;

/// What a token has to say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: Option<&'a str>,
    pub(super) access_token: Option<&'a str>,
}

/// Which key a token names.
pub(super) fn key_of(token: &str) -> Result<Option<String>, &'static str> {
    decode_header(token).map(|header| header.kid).map_err(|_| "its token cannot be read")
}

/// What a token says, if it is right in every respect.
pub(super) fn check(
    token: &str,
    keys: &[Jwk],
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, &'static str> {
    let header = decode_header(token).map_err(|_| "its token cannot be read")?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err("its token is signed in a way that is not accepted");
    }
    let key = choose(keys, header.kid.as_deref(), header.alg)?;
    let mut rules = Validation::new(header.alg);
    rules.set_issuer(&[expected.issuer]);
    rules.set_audience(&[expected.client_id]);
    rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    rules.leeway = SKEW;
    rules.validate_nbf = true;
    let key = DecodingKey::from_jwk(key).map_err(|_| "the key of its token cannot be used")?;
    let claims = decode::<Map<String, Value>>(token, &key, &rules)
        .map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::ExpiredSignature => "its token has expired",
            jsonwebtoken::errors::ErrorKind::InvalidIssuer => "its token is from another issuer",
            jsonwebtoken::errors::ErrorKind::InvalidAudience => "its token is for somebody else",
            _ => "its token is not valid",
        })?
        .claims;
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("sub").is_none_or(|subject| subject.is_empty() || subject.len() > 255) {
        return Err("its token names nobody");
    }
    let is_for_several = claims.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
    match text("azp") {
        Some(party) if party != expected.client_id => return Err("its token was made for another client"),
        None if is_for_several => return Err("its token does not say for which client it was made"),
        _ => {}
    }
    if let Some(nonce) = expected.nonce {
        let given = text("nonce").unwrap_or_default();
        if !bool::from(given.as_bytes().ct_eq(nonce.as_bytes())) {
            return Err("its token belongs to another login");
        }
    }
    if let (Some(hash), Some(access_token)) = (text("at_hash"), expected.access_token)
        && hash != half_hash(header.alg, access_token)
    {
        return Err("its tokens do not belong together");
    }
    Ok(claims)
}

/// The key that a token names, or the only one that can have signed it.
fn choose<'a>(keys: &'a [Jwk], kid: Option<&str>, algorithm: Algorithm) -> Result<&'a Jwk, &'static str> {
    let fits = |key: &&Jwk| {
        let for_signing =
            !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption | PublicKeyUse::Other(_)));
        let right_kind = matches!(
            (&key.algorithm, algorithm),
            (
                AlgorithmParameters::RSA(_),
                Algorithm::RS256
                    | Algorithm::RS384
                    | Algorithm::RS512
                    | Algorithm::PS256
                    | Algorithm::PS384
                    | Algorithm::PS512
            ) | (AlgorithmParameters::EllipticCurve(_), Algorithm::ES256 | Algorithm::ES384)
                | (AlgorithmParameters::OctetKeyPair(_), Algorithm::EdDSA)
        );
        let right_algorithm =
            key.common.key_algorithm.is_none_or(|named| named.to_string() == format!("{algorithm:?}"));
        for_signing && right_kind && right_algorithm
    };
    let mut fitting =
        keys.iter().filter(fits).filter(|key| kid.is_none() || key.common.key_id.as_deref() == kid);
    match (fitting.next(), fitting.next()) {
        (Some(key), None) => Ok(key),
        (Some(key), Some(_)) if kid.is_some() => Ok(key),
        (Some(_), Some(_)) => Err("its token does not say which key signed it"),
        (None, _) => Err("its token is signed with a key that it does not publish"),
    }
}

/// The left half of the hash that goes with the signature.
fn half_hash(algorithm: Algorithm, text: &str) -> String {
    let by = match algorithm {
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => &SHA384,
        Algorithm::RS512 | Algorithm::PS512 | Algorithm::EdDSA => &SHA512,
        _ => &SHA256,
    };
    let hash = digest(by, text.as_bytes());
    let (left, _) = hash.as_ref().split_at(hash.as_ref().len() / 2);
    URL_SAFE_NO_PAD.encode(left)
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    use super::*;
    use crate::identity::tokens::new_key;

    const ISSUER: &str = "https://id.example";
    const ACCESS: &str = "an access token";

    struct Keys {
        private: Vec<u8>,
        public: Vec<Jwk>,
    }

    fn keys() -> Keys {
        let pair = new_key().unwrap();
        let jwk = json!({
            "kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "sig",
            "x": URL_SAFE_NO_PAD.encode(&pair.public),
        });
        Keys { private: pair.private.to_vec(), public: vec![serde_json::from_value(jwk).unwrap()] }
    }

    fn claims() -> Value {
        let now = jiff::Timestamp::now().as_second();
        json!({
            "iss": ISSUER, "aud": "slipway", "sub": "u-1", "nonce": "n-1", "iat": now, "exp": now + 300,
            "at_hash": half_hash(Algorithm::EdDSA, ACCESS),
        })
    }

    fn signed(keys: &Keys, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some("k1".to_owned());
        encode(&header, claims, &EncodingKey::from_ed_der(&keys.private)).unwrap()
    }

    fn judged(keys: &Keys, token: &str) -> Result<Map<String, Value>, &'static str> {
        let expected =
            Expected { issuer: ISSUER, client_id: "slipway", nonce: Some("n-1"), access_token: Some(ACCESS) };
        check(token, &keys.public, &expected)
    }

    #[test]
    fn a_token_is_believed_only_when_everything_about_it_is_right() {
        let keys = keys();
        assert_eq!(judged(&keys, &signed(&keys, &claims())).unwrap()["sub"], "u-1");
        let now = jiff::Timestamp::now().as_second();
        for (name, value, why) in [
            ("iss", json!("https://id.example/"), "another issuer"),
            ("aud", json!("another"), "somebody else"),
            ("aud", json!(["slipway", "another"]), "for which client"),
            ("azp", json!("another"), "another client"),
            ("nonce", json!("n-2"), "another login"),
            ("nonce", Value::Null, "another login"),
            ("exp", json!(now - 120), "expired"),
            ("nbf", json!(now + 300), "not valid"),
            ("sub", json!(""), "names nobody"),
            ("at_hash", json!("another"), "do not belong together"),
        ] {
            let mut claims = claims();
            claims[name] = value;
            let error = judged(&keys, &signed(&keys, &claims)).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
        let mut shared = claims();
        shared["aud"] = json!(["slipway", "another"]);
        shared["azp"] = json!("slipway");
        assert!(judged(&keys, &signed(&keys, &shared)).is_ok());
        for missing in ["iss", "aud", "sub", "exp"] {
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(missing);
            assert!(judged(&keys, &signed(&keys, &claims)).is_err(), "{missing}");
        }
    }

    #[test]
    fn only_the_issuer_can_have_signed_it() {
        let mine = keys();
        let good = signed(&mine, &claims());
        assert!(judged(&mine, &signed(&keys(), &claims())).is_err(), "another key");
        let body = good.split('.').nth(1).unwrap();
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"k1"}"#);
        assert!(judged(&mine, &format!("{none}.{body}.")).is_err(), "no signature");
        let public = match &mine.public[0].algorithm {
            AlgorithmParameters::OctetKeyPair(pair) => URL_SAFE_NO_PAD.decode(&pair.x).unwrap(),
            other => panic!("{other:?}"),
        };
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("k1".to_owned());
        let hmac = encode(&header, &claims(), &EncodingKey::from_secret(&public)).unwrap();
        assert!(judged(&mine, &hmac).unwrap_err().contains("not accepted"), "a shared secret");
        let unknown = Keys { public: vec![], ..keys() };
        assert!(judged(&unknown, &good).unwrap_err().contains("does not publish"));
    }
}
