//! Certificates of a test's own authority.

use std::fs;
use std::path::Path;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

/// A certificate with its key, both PEM.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Pair {
    /// Writes `<name>.crt` and `<name>.key` into a directory.
    pub fn write(&self, directory: &Path, name: &str) -> anyhow::Result<()> {
        fs::write(directory.join(format!("{name}.crt")), &self.certificate)?;
        fs::write(directory.join(format!("{name}.key")), &self.key)?;
        Ok(())
    }
}

/// An authority that signs what a test needs.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("making the authority's key")?;
        let certificate = params.self_signed(&key).context("making the authority's certificate")?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// The authority's own certificate, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A server's certificate for these names and addresses.
    pub fn server(&self, name: &str, names: &[&str]) -> anyhow::Result<Pair> {
        self.issue(name, &[], names, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A client's certificate: Kubernetes takes the user from `name` and the groups from `groups`.
    pub fn client(&self, name: &str, groups: &[&str]) -> anyhow::Result<Pair> {
        self.issue(name, groups, &[], &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    /// A certificate for both, as a kubelet needs.
    pub fn peer(&self, name: &str, groups: &[&str], names: &[&str]) -> anyhow::Result<Pair> {
        self.issue(
            name,
            groups,
            names,
            &[ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        )
    }

    fn issue(
        &self,
        name: &str,
        groups: &[&str],
        names: &[&str],
        purposes: &[ExtendedKeyUsagePurpose],
    ) -> anyhow::Result<Pair> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params =
            CertificateParams::new(names).with_context(|| format!("naming the certificate of {name}"))?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = purposes.to_vec();
        let key = KeyPair::generate().with_context(|| format!("making the key of {name}"))?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("signing the certificate of {name}"))?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A key pair for signing ServiceAccount tokens: the private and the public half, PEM.
pub fn signing_key() -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate().context("making the key for ServiceAccount tokens")?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
