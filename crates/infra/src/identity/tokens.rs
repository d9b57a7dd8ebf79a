//! JWT, signed with Ed25519 and nothing else.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use slipway_orchestrator::ports::identity::{Claims, IdentityError, KeyPair, TokenError};
use zeroize::Zeroizing;

pub(in crate::identity) fn new_key() -> Result<KeyPair, IdentityError> {
    let failed = |error| IdentityError::defect("make a signing key", format!("{error}"));
    let pair = Ed25519KeyPair::generate().map_err(failed)?;
    let private = pair.to_pkcs8v1().map_err(failed)?;
    Ok(KeyPair {
        public: pair.public_key().as_ref().to_vec(),
        private: Zeroizing::new(private.as_ref().to_vec()),
    })
}

pub(super) fn sign(key: &str, private: &[u8], claims: &Claims) -> Result<String, IdentityError> {
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some(key.to_owned());
    encode(&header, claims, &EncodingKey::from_ed_der(private))
        .map_err(|error| IdentityError::defect("sign a token", error))
}

pub(super) fn key_of(token: &str) -> Result<String, TokenError> {
    let header = decode_header(token).map_err(|_| TokenError)?;
    if header.alg != Algorithm::EdDSA {
        return Err(TokenError);
    }
    header.kid.filter(|kid| kid.len() <= 64).ok_or(TokenError)
}

pub(super) fn read(token: &str, public: &[u8]) -> Result<Claims, TokenError> {
    let mut rules = Validation::new(Algorithm::EdDSA);
    rules.set_issuer(&[Claims::ISSUER]);
    rules.set_audience(&[Claims::AUDIENCE]);
    rules.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    // Times are judged by the use case, whose clock tests own.
    rules.validate_exp = false;
    rules.validate_nbf = false;
    decode(token, &DecodingKey::from_ed_der(public), &rules).map(|data| data.claims).map_err(|_| TokenError)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jiff::Timestamp;
    use slipway_domain::access::Role;
    use slipway_orchestrator::ports::identity::TokenKind;
    use uuid::Uuid;

    use super::*;

    fn claims() -> Claims {
        Claims {
            sub: Uuid::new_v4(),
            jti: Uuid::new_v4(),
            kind: TokenKind::Session,
            sid: Some(Uuid::new_v4()),
            role: Role::Viewer,
            environments: vec![],
            version: 1,
            iss: Claims::ISSUER.to_owned(),
            aud: Claims::AUDIENCE.to_owned(),
            iat: 1_800_000_000,
            nbf: 1_800_000_000,
            exp: 1_800_003_600,
        }
    }

    fn parts(token: &str) -> [String; 3] {
        token.split('.').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn what_was_signed_is_read_again() {
        let key = new_key().unwrap();
        let token = sign("k1", &key.private, &claims()).unwrap();
        assert_eq!(key_of(&token).unwrap(), "k1");
        let read = read(&token, &key.public).unwrap();
        assert_eq!((read.role, read.exp), (Role::Viewer, 1_800_003_600));
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(read.counts_at(at(1_800_000_000)) && read.counts_at(at(1_800_003_599)));
        assert!(!read.counts_at(at(1_800_003_600)) && !read.counts_at(at(1_799_999_000)));
    }

    #[test]
    fn whatever_was_changed_or_signed_otherwise_is_refused() {
        let key = new_key().unwrap();
        let token = sign("k1", &key.private, &claims()).unwrap();
        let [header, body, signature] = parts(&token);

        let promoted = String::from_utf8(URL_SAFE_NO_PAD.decode(&body).unwrap()).unwrap();
        let promoted = URL_SAFE_NO_PAD.encode(promoted.replace("Viewer", "Admin"));
        assert!(read(&format!("{header}.{promoted}.{signature}"), &key.public).is_err(), "another body");

        let other = new_key().unwrap();
        let forged = sign("k1", &other.private, &claims()).unwrap();
        assert!(read(&forged, &key.public).is_err(), "another key");

        let none = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"none","kid":"k1"}"#);
        for unsigned in [format!("{none}.{body}."), format!("{none}.{body}.{signature}")] {
            assert!(key_of(&unsigned).is_err() && read(&unsigned, &key.public).is_err(), "no algorithm");
        }

        // The public key is public: as a secret for HMAC it must prove nothing.
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("k1".to_owned());
        let hmac = encode(&header, &claims(), &EncodingKey::from_secret(&key.public)).unwrap();
        assert!(key_of(&hmac).is_err() && read(&hmac, &key.public).is_err(), "another algorithm");

        for (change, what) in [
            (Claims { iss: "elsewhere".to_owned(), ..claims() }, "issuer"),
            (Claims { aud: "elsewhere".to_owned(), ..claims() }, "audience"),
        ] {
            let token = sign("k1", &key.private, &change).unwrap();
            assert!(read(&token, &key.public).is_err(), "another {what}");
        }
        for junk in ["", ".", "..", "a.b.c", &"x".repeat(5000)] {
            assert!(key_of(junk).is_err() && read(junk, &key.public).is_err());
        }
    }
}
