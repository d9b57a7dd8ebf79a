//! A certificate for the loopback interface, by an authority that nobody but the test trusts.

use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A server's certificate and key for `localhost` and `127.0.0.1`, with the authority that signed it.
#[derive(Debug)]
pub struct Identity {
    authority_pem: String,
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl Identity {
    /// Makes a fresh authority and a certificate signed by it.
    pub fn new() -> Result<Self> {
        let authority_key = KeyPair::generate().context("could not make the authority's key")?;
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "Slipway test authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_certificate =
            authority.self_signed(&authority_key).context("could not sign the authority's certificate")?;
        let issuer = Issuer::new(authority, authority_key);

        let key = KeyPair::generate().context("could not make the server's key")?;
        let mut server = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])
            .context("could not name the server in its certificate")?;
        server.distinguished_name.push(DnType::CommonName, "localhost");
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate =
            server.signed_by(&key, &issuer).context("could not sign the server's certificate")?;
        Ok(Self {
            authority_pem: authority_certificate.pem(),
            certificate_pem: certificate.pem(),
            certificate: certificate.into(),
            key,
        })
    }

    /// The authority's certificate: what a client must trust.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The server's certificate, for programs that read it from a file.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The server's private key, for programs that read it from a file.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// What turns an accepted connection into an encrypted one.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor> {
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("the TLS provider offers no protocol version")?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .context("the TLS library refuses the server's certificate")?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
