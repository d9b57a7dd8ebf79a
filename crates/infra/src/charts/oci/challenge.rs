//! What a registry asks for before it answers (`WWW-Authenticate`).

/// How it wants to be told who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// With a user name and a password.
    Basic,
    /// With a token from there.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut fields = std::collections::BTreeMap::new();
        let mut rest = rest;
        while let Some((name, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            fields.insert(name.trim_start_matches([',', ' ']).to_lowercase(), value.to_owned());
            rest = after;
        }
        Some(Self::Bearer {
            realm: fields.remove("realm")?,
            service: fields.remove("service"),
            scope: fields.remove("scope"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_understood() {
        assert_eq!(Challenge::parse("Basic realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(
            Challenge::parse(
                "Bearer realm=\"https://auth.example/token\",service=\"registry.example\", scope=\"repository:a/b:pull,push\""
            ),
            Some(Challenge::Bearer {
                realm: "https://auth.example/token".to_owned(),
                service: Some("registry.example".to_owned()),
                scope: Some("repository:a/b:pull,push".to_owned()),
            })
        );
        for bad in ["", "Digest x=\"y\"", "Bearer service=\"x\"", "Bearer realm=\"open"] {
            assert_eq!(Challenge::parse(bad), None, "{bad}");
        }
    }
}
