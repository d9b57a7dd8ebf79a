//! Certificates of webhooks: how much of their life is left.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// A certificate, as far as its life goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSeen {
    /// Where it was seen, such as `the CA bundle`.
    pub of: String,
    /// It counts from then.
    pub not_before: Timestamp,
    /// It counts until then.
    pub not_after: Timestamp,
}

/// How a certificate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateState {
    /// It will do for a while.
    Good,
    /// It does not count yet.
    Early,
    /// It is in the last part of its life and was not renewed.
    Ending,
    /// It is over.
    Expired,
}

impl CertificateSeen {
    /// How it is now.
    pub fn state(&self, now: Timestamp, limits: &Limits) -> CertificateState {
        if now < self.not_before {
            return CertificateState::Early;
        }
        if now >= self.not_after {
            return CertificateState::Expired;
        }
        let life = between(self.not_before, self.not_after);
        let last = (life / limits.certificate_share.max(1)).min(limits.certificate_warning);
        if between(now, self.not_after) <= last { CertificateState::Ending } else { CertificateState::Good }
    }
}

/// The time from one moment to a later one; none if it is not later.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
