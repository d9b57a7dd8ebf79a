//! The certificate that is shown right now.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::rotation::Validity;
use crate::webhook::error::WebhookError;

/// A certificate chain with its key, ready to be shown.
pub(crate) struct Identity {
    key: Arc<CertifiedKey>,
    pub(crate) validity: Validity,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Identity").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a pair; a key that belongs to another certificate is refused.
    pub(crate) fn read(what: &str, certificate: &str, key: &str) -> Result<Self, WebhookError> {
        let unusable = |reason: &dyn std::fmt::Display| WebhookError::certificate(what, reason.to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&error))?;
        let first = chain.first().ok_or_else(|| unusable(&"it holds no certificate"))?;
        let validity = Validity::of(first).map_err(|reason| unusable(&reason))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| unusable(&error))?;
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let key = CertifiedKey::from_der(chain, key, &provider).map_err(|error| unusable(&error))?;
        Ok(Self { key: Arc::new(key), validity })
    }
}

/// Where handshakes find the certificate. Filling it again changes what the next handshake sees.
#[derive(Debug, Default)]
pub(crate) struct Slot(ArcSwapOption<Identity>);

impl Slot {
    pub(crate) fn fill(&self, identity: Identity) {
        self.0.store(Some(Arc::new(identity)));
    }

    pub(crate) fn get(&self) -> Option<Arc<Identity>> {
        self.0.load_full()
    }

    /// Whether it holds a certificate that is valid now.
    pub(crate) fn valid(&self) -> bool {
        self.get().is_some_and(|identity| identity.validity.holds(Timestamp::now()))
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load().as_ref().map(|identity| Arc::clone(&identity.key))
    }
}
