//! An authority of our own, and the certificates it signs.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::parse_x509_certificate;

use super::identity::Identity;
use super::rotation::Validity;
use crate::webhook::error::WebhookError;

/// A certificate begins a little before it is made, since clocks differ.
const LEEWAY: Duration = Duration::from_mins(5);

/// The public half of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicAuthority {
    pub(crate) pem: String,
    pub(crate) validity: Validity,
    subject: String,
}

impl PublicAuthority {
    pub(crate) fn read(pem: &str) -> Result<Self, WebhookError> {
        let unusable = |reason: String| WebhookError::certificate("the authority's certificate", reason);
        let der =
            CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| unusable(error.to_string()))?;
        let validity = Validity::of(&der).map_err(unusable)?;
        let subject = common_name(&der).map_err(unusable)?;
        Ok(Self { pem: pem.to_owned(), validity, subject })
    }
}

/// An authority with its key.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) public: PublicAuthority,
    key: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority.
    pub(crate) fn generate(name: &str, lifetime: Duration, now: Timestamp) -> Result<Self, WebhookError> {
        let unusable =
            |error: rcgen::Error| WebhookError::certificate("the new authority", error.to_string());
        // The time in the name tells the old one from the new one while both are trusted.
        let mut params = subject_of(&format!("{name} {now:.0}"));
        (params.not_before, params.not_after) = (since(now, lifetime).into(), until(now, lifetime).into());
        let key = KeyPair::generate().map_err(unusable)?;
        let certificate = params.self_signed(&key).map_err(unusable)?;
        Ok(Self { public: PublicAuthority::read(&certificate.pem())?, key: key.serialize_pem() })
    }

    /// An authority as it was stored.
    pub(crate) fn read(certificate: &str, key: &str) -> Result<Self, WebhookError> {
        // A pair that does not belong together would sign certificates that nobody accepts.
        Identity::read("the authority", certificate, key)?;
        Ok(Self { public: PublicAuthority::read(certificate)?, key: key.to_owned() })
    }

    /// Its private key, PEM, for the Secret alone.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// A server's certificate. It ends with its authority at the latest.
    pub(crate) fn issue(
        &self,
        names: &[String],
        addresses: &[IpAddr],
        lifetime: Duration,
        now: Timestamp,
    ) -> Result<Identity, WebhookError> {
        let unusable =
            |error: rcgen::Error| WebhookError::certificate("the new webhook certificate", error.to_string());
        let mut subject: Vec<String> = names.to_vec();
        subject.extend(addresses.iter().map(IpAddr::to_string));
        let name = subject.first().cloned().unwrap_or_default();
        let mut params = CertificateParams::new(subject).map_err(unusable)?;
        params.distinguished_name = DistinguishedName::new();
        // The common name is for people alone, and may not be longer.
        params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let until = until(now, lifetime).min(SystemTime::from(self.public.validity.until));
        (params.not_before, params.not_after) = (since(now, lifetime).into(), until.into());
        let signer = KeyPair::from_pem(&self.key).map_err(unusable)?;
        let issuer = Issuer::new(subject_of(&self.public.subject), signer);
        let key = KeyPair::generate().map_err(unusable)?;
        let certificate = params.signed_by(&key, &issuer).map_err(unusable)?;
        Identity::read("the new webhook certificate", &certificate.pem(), &key.serialize_pem())
    }
}

/// What an authority of this name is, and how what it signs refers to it.
fn subject_of(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

/// The one common name of a certificate, as ours have it.
fn common_name(der: &[u8]) -> Result<String, String> {
    let (_, certificate) = parse_x509_certificate(der).map_err(|error| error.to_string())?;
    let subject = certificate.subject();
    let mut names = subject.iter_common_name();
    match (names.next(), subject.iter_attributes().count()) {
        (Some(name), 1) => name.as_str().map(str::to_owned).map_err(|error| error.to_string()),
        _ => Err(format!("its subject is {subject} and not one common name: it was not made here")),
    }
}

fn since(now: Timestamp, lifetime: Duration) -> SystemTime {
    SystemTime::from(now) - LEEWAY.min(lifetime / 10)
}

fn until(now: Timestamp, lifetime: Duration) -> SystemTime {
    SystemTime::from(now) + lifetime
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority() -> Authority {
        Authority::generate("test", Duration::from_hours(1), Timestamp::now()).unwrap()
    }

    #[test]
    fn a_key_is_never_shown() {
        let authority = authority();
        let shown = format!("{authority:?}");
        assert!(!shown.contains("PRIVATE"), "{shown}");
        assert!(!shown.contains(authority.key().lines().nth(1).unwrap()), "{shown}");
    }

    #[test]
    fn a_leaf_ends_with_its_authority_at_the_latest() {
        let authority = authority();
        let leaf = authority
            .issue(&["a.b.svc".to_owned()], &[], Duration::from_hours(24), Timestamp::now())
            .unwrap();
        assert_eq!(leaf.validity.until, authority.public.validity.until);
    }

    #[test]
    fn a_stored_authority_signs_as_before_and_a_foreign_key_is_refused() {
        let authority = authority();
        let read = Authority::read(&authority.public.pem, authority.key()).unwrap();
        read.issue(&[], &[[127, 0, 0, 1].into()], Duration::from_mins(1), Timestamp::now()).unwrap();
        let other = Authority::generate("other", Duration::from_hours(1), Timestamp::now()).unwrap();
        assert!(Authority::read(&authority.public.pem, other.key()).is_err());
    }
}
