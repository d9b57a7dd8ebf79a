//! Which object or list a path names.

/// What a path of the API names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Place {
    /// None for what is no resource, such as `/version`.
    pub(super) fn of(path: &str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty()).map(ToOwned::to_owned);
        let group = match parts.next()?.as_str() {
            "api" => String::new(),
            "apis" => parts.next()?,
            _ => return None,
        };
        let version = parts.next()?;
        let mut rest: Vec<String> = parts.collect();
        // `/namespaces/<name>` alone, or with one of its own subresources, is the Namespace itself.
        let inside = rest.len() > 2
            && rest.first().is_some_and(|first| first == "namespaces")
            && !(rest.len() == 3 && ["status", "finalize"].contains(&rest[2].as_str()));
        let namespace = inside.then(|| rest.drain(..2).nth(1)).flatten();
        let mut rest = rest.into_iter();
        Some(Self {
            group,
            version,
            resource: rest.next()?,
            namespace,
            name: rest.next(),
            subresource: rest.next(),
        })
    }

    /// As `apiVersion` says it.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        let Place { group, version, resource, namespace, name, subresource } = Place::of(path)?;
        let or = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        Some(format!("{group}|{version}|{resource}|{}|{}|{}", or(namespace), or(name), or(subresource)))
    }

    #[test]
    fn objects_lists_and_subresources_are_told_apart() {
        for (path, place) in [
            ("/api/v1/namespaces/a/configmaps", Some("|v1|configmaps|a|-|-")),
            ("/api/v1/namespaces/a/configmaps/m", Some("|v1|configmaps|a|m|-")),
            ("/api/v1/namespaces/a/status", Some("|v1|namespaces|-|a|status")),
            ("/api/v1/namespaces/a", Some("|v1|namespaces|-|a|-")),
            ("/api/v1/configmaps", Some("|v1|configmaps|-|-|-")),
            ("/apis/example.com/v1/namespaces/a/boats/b/status", Some("example.com|v1|boats|a|b|status")),
            ("/apis/example.com/v1/ports/p", Some("example.com|v1|ports|-|p|-")),
            ("/version", None),
            ("/apis/example.com/v1", None),
        ] {
            assert_eq!(read(path).as_deref(), place, "{path}");
        }
    }
}
