//! What is tried again, and when.

use std::time::Duration;

use slipway_contract::{Endpoint, Method};

/// How often a call is tried in all.
pub(crate) const ATTEMPTS: u32 = 4;

/// What may be done about a connection that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The call can be made again whatever happened to it.
    Always,
    /// Only where it never reached the server.
    Unsent,
}

impl Repeat {
    /// Of an endpoint. A POST carries an `Idempotency-Key`, so the server itself makes the second harmless;
    /// a removal that is made twice would be told that there is nothing to remove.
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        if matches!(endpoint.method, Method::Get | Method::Put) || endpoint.replays() {
            Self::Always
        } else {
            Self::Unsent
        }
    }

    /// Whether a failure on the way lets the call be made again.
    pub(crate) fn allows(self, error: &reqwest::Error) -> bool {
        !error.is_builder() && !error.is_redirect() && (error.is_connect() || self == Self::Always)
    }
}

/// How long to wait before the next attempt: 200 ms, doubled each time.
pub(crate) fn pause(attempt: u32) -> Duration {
    Duration::from_millis(200) * 2_u32.saturating_pow(attempt.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use slipway_domain::access::Permission;

    use super::*;

    #[test]
    fn what_cannot_be_undone_is_repeated_only_where_it_was_never_sent() {
        let row = |method| Endpoint::new(method, "/things", "things", Permission::Read, 1);
        assert_eq!(Repeat::of(&row(Method::Get)), Repeat::Always);
        assert_eq!(Repeat::of(&row(Method::Put)), Repeat::Always);
        assert_eq!(Repeat::of(&row(Method::Post)), Repeat::Always);
        assert_eq!(Repeat::of(&row(Method::Post).secret()), Repeat::Unsent);
        assert_eq!(Repeat::of(&row(Method::Delete)), Repeat::Unsent);
    }

    #[test]
    fn pauses_double() {
        assert_eq!([1, 2, 3].map(|attempt| pause(attempt).as_millis()), [200, 400, 800]);
    }
}
