//! HMAC-SHA256 over id, time and body.

use std::fmt;
use std::path::Path;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::secret_file::{self, SecretFileError};

/// How far the time of a request may be from the receiver's: an old request that somebody caught counts
/// for nothing.
pub const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The shortest secret.
const SHORTEST: usize = 24;

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadSecret {
    /// Its file.
    #[error(transparent)]
    File(SecretFileError),
    /// Too easy to guess.
    #[error("it has fewer than 24 bytes; make one with: openssl rand -base64 32 | sed s/^/whsec_/")]
    Short,
    /// It begins as one in Base64 and goes on otherwise.
    #[error("what follows whsec_ is not Base64")]
    Encoding,
}

/// Why a request is not from whom it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSignature {
    /// The time is missing, or too far away.
    #[error("the time of the request is not now")]
    Time,
    /// Nothing in it was made with the secret.
    #[error("the request was not signed with this secret")]
    Signature,
}

/// The secrets of a receiver; each signs.
pub struct Secrets(Vec<Zeroizing<Vec<u8>>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// One per line: `whsec_` and Base64, or any text.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let secret = |line: &str| {
            let bytes = match line.strip_prefix("whsec_") {
                Some(encoded) => STANDARD.decode(encoded).map_err(|_| BadSecret::Encoding)?,
                None => line.as_bytes().to_vec(),
            };
            let bytes = Zeroizing::new(bytes);
            if bytes.len() < SHORTEST { Err(BadSecret::Short) } else { Ok(bytes) }
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets = lines.map(secret).collect::<Result<Vec<_>, _>>()?;
        if secrets.is_empty() { Err(BadSecret::Short) } else { Ok(Self(secrets)) }
    }

    pub(super) fn read(file: &Path) -> Result<Self, BadSecret> {
        Self::parse(&secret_file::read(file)?)
    }

    /// What the header `webhook-signature` says.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let content = content(id, seconds, body);
        let sign = |secret: &Zeroizing<Vec<u8>>| {
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &content);
            format!("v1,{}", STANDARD.encode(tag))
        };
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }
}

/// Whether a request is from whoever has one of the secrets: for receivers, and as the exact words of what
/// the reference describes.
pub fn verify(
    secrets: &Secrets,
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<(), BadSignature> {
    let seconds: i64 = timestamp.parse().map_err(|_| BadSignature::Time)?;
    let at = Timestamp::from_second(seconds).map_err(|_| BadSignature::Time)?;
    if now.duration_since(at).abs() > TOLERANCE {
        return Err(BadSignature::Time);
    }
    let content = content(id, seconds, body);
    let tags: Vec<Vec<u8>> = signatures
        .split(' ')
        .filter_map(|signature| signature.strip_prefix("v1,"))
        .filter_map(|encoded| STANDARD.decode(encoded).ok())
        .collect();
    let fits = |secret: &Zeroizing<Vec<u8>>| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        tags.iter().any(|tag| hmac::verify(&key, &content, tag).is_ok())
    };
    if secrets.0.iter().any(fits) { Ok(()) } else { Err(BadSignature::Signature) }
}

fn content(id: &str, seconds: i64, body: &[u8]) -> Vec<u8> {
    [format!("{id}.{seconds}.").as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_example_of_standard_webhooks_comes_out_the_same() {
        let secrets = Secrets::parse(SECRET).unwrap();
        let signature =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn whatever_is_changed_does_not_verify() {
        let secrets = Secrets::parse(SECRET).unwrap();
        let signature = secrets.sign("id", 1_000, b"body");
        let check = |id: &str, time: &str, signature: &str, body: &[u8], now: i64| {
            verify(&secrets, id, time, signature, body, at(now))
        };
        assert_eq!(check("id", "1000", &signature, b"body", 1_299), Ok(()));
        assert_eq!(check("id", "1000", &signature, b"Body", 1_000), Err(BadSignature::Signature));
        assert_eq!(check("ie", "1000", &signature, b"body", 1_000), Err(BadSignature::Signature));
        assert_eq!(check("id", "1001", &signature, b"body", 1_000), Err(BadSignature::Signature));
        assert_eq!(check("id", "1000", "v1,AAAA", b"body", 1_000), Err(BadSignature::Signature));
        assert_eq!(check("id", "1000", &signature, b"body", 1_301), Err(BadSignature::Time));
        assert_eq!(check("id", "now", &signature, b"body", 1_000), Err(BadSignature::Time));
        let others = Secrets::parse("another secret of the right length").unwrap();
        assert!(verify(&others, "id", "1000", &signature, b"body", at(1_000)).is_err());
    }

    #[test]
    fn a_receiver_can_change_from_one_secret_to_the_other() {
        let new = "another secret of the right length";
        let both = Secrets::parse(&format!("{SECRET}\n\n{new}\n")).unwrap();
        let signatures = both.sign("id", 1_000, b"body");
        for one in [SECRET, new] {
            let one = Secrets::parse(one).unwrap();
            assert_eq!(verify(&one, "id", "1000", &signatures, b"body", at(1_000)), Ok(()));
        }
    }

    #[test]
    fn secrets_that_are_easy_to_guess_are_refused_and_none_is_shown() {
        assert!(matches!(Secrets::parse("short"), Err(BadSecret::Short)));
        assert!(matches!(Secrets::parse(" \n"), Err(BadSecret::Short)));
        assert!(matches!(Secrets::parse("whsec_!"), Err(BadSecret::Encoding)));
        assert_eq!(format!("{:?}", Secrets::parse(SECRET).unwrap()), "Secrets(1)");
    }
}
