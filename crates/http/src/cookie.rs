//! The cookies of a browser's login: scripts cannot read them, and over TLS no other host can set them.

use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, Method};
use slipway_orchestrator::Code;

use crate::error::ApiError;

/// What has to come back from an issuer, sealed.
pub const LOGIN: &str = "slipway-login";
/// The token of a session.
pub const SESSION: &str = "slipway-session";

/// How cookies are given and read. Over TLS they have the `__Host-` prefix, which binds them to this very host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cookies {
    /// Whether browsers reach this server over TLS.
    pub tls: bool,
}

impl Cookies {
    /// A cookie for so many seconds, as a header's value; none takes it away.
    pub fn give(self, name: &str, value: &str, seconds: u64) -> String {
        let tls = if self.tls { "; Secure" } else { "" };
        // Lax, not Strict: the browser comes back from the issuer's site.
        format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{tls}", self.named(name))
    }

    /// The value that a browser sent.
    pub fn read(self, headers: &HeaderMap, name: &str) -> Option<String> {
        let wanted = self.named(name);
        let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
    }

    fn named(self, name: &str) -> String {
        format!("{}{name}", if self.tls { "__Host-" } else { "" })
    }
}

/// Lets through what a page of this very server asks for, and whatever only reads: a browser sends cookies
/// whoever's page makes it send the request.
pub(crate) fn same_origin(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = if let Some(site) = text("sec-fetch-site") {
        site == "same-origin"
    } else {
        // Older browsers, and all of them without TLS, say only where the page is from.
        let page = text(ORIGIN.as_str()).and_then(|origin| origin.split_once("://"));
        page.is_some_and(|(_, page)| text(HOST.as_str()) == Some(page))
    };
    if own || matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::Forbidden,
        "a session in a cookie counts for pages of this server only; send the token as: Authorization: Bearer",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_cannot_be_read_by_scripts_nor_set_by_neighbours() {
        let cookies = Cookies { tls: true };
        let given = cookies.give(SESSION, "abc", 60);
        assert_eq!(given, "__Host-slipway-session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, "a=1; slipway-login=evil; __Host-slipway-login=good".parse().unwrap());
        assert_eq!(cookies.read(&headers, LOGIN).as_deref(), Some("good"));
        assert_eq!(Cookies { tls: false }.read(&headers, LOGIN).as_deref(), Some("evil"));
        assert_eq!(cookies.read(&headers, SESSION), None);
    }

    #[test]
    fn a_page_of_another_origin_only_reads() {
        let allowed = |method: Method, pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers
                    .insert(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
            }
            same_origin(&method, &headers).is_ok()
        };
        assert!(allowed(Method::GET, &[("sec-fetch-site", "cross-site")]));
        assert!(allowed(Method::POST, &[("sec-fetch-site", "same-origin")]));
        assert!(allowed(Method::POST, &[("origin", "http://s.example:5000"), ("host", "s.example:5000")]));
        for pairs in [
            &[][..],
            &[("sec-fetch-site", "same-site"), ("origin", "http://s.example"), ("host", "s.example")],
            &[("origin", "http://evil.example"), ("host", "s.example")],
            &[("origin", "null"), ("host", "s.example")],
            &[("host", "s.example")],
        ] {
            assert!(!allowed(Method::POST, pairs) && !allowed(Method::DELETE, pairs), "{pairs:?}");
        }
    }
}
