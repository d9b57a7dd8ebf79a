//! The certificates in a registration's CA bundle.

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use slipway_domain::health::CertificateSeen;
use x509_parser::parse_x509_certificate;

/// The one of a bundle that counts the longest: while authorities change, the old one is still there.
pub(super) fn longest(bundle: &[u8]) -> Option<CertificateSeen> {
    let certificates = CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok);
    certificates
        .filter_map(|certificate| seen(&certificate, "the CA bundle it is registered with"))
        .max_by_key(|certificate| certificate.not_after)
}

/// The life of a certificate.
pub(super) fn seen(certificate: &CertificateDer<'_>, of: &str) -> Option<CertificateSeen> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    let validity = parsed.validity();
    Some(CertificateSeen {
        of: of.to_owned(),
        not_before: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
        not_after: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
    })
}
