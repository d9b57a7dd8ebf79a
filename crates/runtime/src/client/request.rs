//! What a request is about, read from its method and path.

use http::{Method, Request};

/// What a request asks of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The API group; empty for the core group and for what is not a resource.
    pub group: String,
    /// The resource with its subresource, such as `deployments` or `applications/status`. For what is
    /// not a resource the first part of the path, such as `/version`.
    pub resource: String,
}

/// Subresources of a Namespace; anything else after its name is a resource in it.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];
/// Subresources whose answer goes on for as long as both sides want.
const STREAMS: [&str; 5] = ["/log", "/exec", "/attach", "/portforward", "/proxy"];
/// Questions that are asked by creating something that is never stored.
const REVIEWS: [&str; 6] = [
    "tokenreviews",
    "subjectaccessreviews",
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "selfsubjectreviews",
];

impl RequestInfo {
    /// Reads a request's method, path and query.
    pub fn of(method: &Method, path: &str, query: Option<&str>) -> Self {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let group = match parts.next() {
            Some("api") => Some(""),
            Some("apis") => parts.next(),
            _ => None,
        };
        let mut rest = parts.skip(1).peekable();
        let (Some(group), true) = (group, rest.peek().is_some()) else {
            let first = path.split('/').find(|part| !part.is_empty()).unwrap_or_default();
            return Self {
                verb: verb(method, true, query),
                group: String::new(),
                resource: format!("/{first}"),
            };
        };
        let mut resource = rest.next().unwrap_or_default();
        let mut name = rest.next();
        let mut subresource = rest.next();
        if resource == "namespaces"
            && let Some(inner) = subresource.filter(|inner| !OF_NAMESPACES.contains(inner))
        {
            (resource, name, subresource) = (inner, rest.next(), rest.next());
        }
        let verb = verb(method, name.is_some(), query);
        let resource = match subresource {
            Some(subresource) => format!("{resource}/{subresource}"),
            None => resource.to_owned(),
        };
        Self { verb, group: group.to_owned(), resource }
    }

    pub(super) fn of_request<B>(request: &Request<B>) -> Self {
        Self::of(request.method(), request.uri().path(), request.uri().query())
    }

    /// Whether the answer has no end of its own, so that no timeout and no retry fits it.
    pub(super) fn streams(&self) -> bool {
        self.verb == "watch" || STREAMS.iter().any(|stream| self.resource.ends_with(stream))
    }

    /// Whether it changes something that is kept.
    pub(super) fn writes(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete") && !self.is_review()
    }

    fn is_review(&self) -> bool {
        let reviewing = matches!(self.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io");
        reviewing && REVIEWS.contains(&self.resource.as_str())
    }

    /// Whether it is about a Lease: an election must not wait behind the work of a reconcile storm.
    pub(super) fn is_about_leases(&self) -> bool {
        self.group == "coordination.k8s.io" && self.resource == "leases"
    }
}

fn verb(method: &Method, named: bool, query: Option<&str>) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ if query.is_some_and(asks_to_watch) => "watch",
        _ if named => "get",
        _ => "list",
    }
}

fn asks_to_watch(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &Method, target: &str) -> (&'static str, String, String) {
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let RequestInfo { verb, group, resource } = RequestInfo::of(method, path, query);
        (verb, group, resource)
    }

    #[test]
    fn verb_group_and_resource_are_read_from_method_and_path() {
        for (method, target, verb, group, resource) in [
            (Method::GET, "/api/v1/namespaces/a/pods", "list", "", "pods"),
            (Method::GET, "/api/v1/pods?limit=500", "list", "", "pods"),
            (Method::GET, "/api/v1/pods?watch=true&resourceVersion=5", "watch", "", "pods"),
            (Method::GET, "/api/v1/pods?allowWatchBookmarks=true&watch=1", "watch", "", "pods"),
            (Method::GET, "/api/v1/pods?watch=false", "list", "", "pods"),
            (Method::GET, "/api/v1/pods?labelSelector=watch%3Dtrue", "list", "", "pods"),
            (Method::GET, "/api/v1/namespaces/a/pods/p", "get", "", "pods"),
            (Method::GET, "/api/v1/namespaces/a/pods/p/log", "get", "", "pods/log"),
            (Method::GET, "/api/v1/namespaces", "list", "", "namespaces"),
            (Method::GET, "/api/v1/namespaces/a", "get", "", "namespaces"),
            (Method::PUT, "/api/v1/namespaces/a/finalize", "update", "", "namespaces/finalize"),
            (Method::PATCH, "/api/v1/namespaces/a/status", "patch", "", "namespaces/status"),
            (Method::GET, "/api/v1/nodes/n", "get", "", "nodes"),
            (Method::POST, "/apis/apps/v1/namespaces/a/deployments", "create", "apps", "deployments"),
            (Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/d", "patch", "apps", "deployments"),
            (
                Method::PUT,
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                "update",
                "apps",
                "deployments/scale",
            ),
            (
                Method::PATCH,
                "/apis/cloudnative.elide.dev/v1/namespaces/a/applications/x/status?fieldManager=m",
                "patch",
                "cloudnative.elide.dev",
                "applications/status",
            ),
            (Method::DELETE, "/apis/apps/v1/namespaces/a/deployments/d", "delete", "apps", "deployments"),
            (
                Method::GET,
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x",
                "get",
                "apiextensions.k8s.io",
                "customresourcedefinitions",
            ),
            (
                Method::POST,
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                "create",
                "authorization.k8s.io",
                "subjectaccessreviews",
            ),
            (Method::GET, "/version", "get", "", "/version"),
            (Method::GET, "/apis", "get", "", "/apis"),
            (Method::GET, "/apis/apps/v1", "get", "", "/apis"),
            (Method::GET, "/api/v1", "get", "", "/api"),
            (Method::GET, "/", "get", "", "/"),
        ] {
            assert_eq!(read(&method, target), (verb, group.into(), resource.into()), "{method} {target}");
        }
    }

    #[test]
    fn reviews_are_no_writes_and_a_kind_of_the_same_name_elsewhere_is() {
        let post = |path| RequestInfo::of(&Method::POST, path, None).writes();
        assert!(!post("/apis/authentication.k8s.io/v1/tokenreviews"));
        assert!(!post("/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews"));
        assert!(post("/apis/example.com/v1/tokenreviews"));
        assert!(post("/api/v1/namespaces/a/configmaps"));
        assert!(!RequestInfo::of(&Method::GET, "/api/v1/pods", None).writes());
    }

    #[test]
    fn watches_logs_and_upgrades_stream() {
        let get = |path, query| RequestInfo::of(&Method::GET, path, query).streams();
        assert!(get("/api/v1/pods", Some("watch=1")));
        assert!(get("/api/v1/namespaces/a/pods/p/log", Some("follow=true")));
        assert!(get("/api/v1/namespaces/a/pods/p/exec", None));
        assert!(!get("/api/v1/namespaces/a/pods/p", None));
        assert!(!get("/api/v1/namespaces/log/pods", None));
    }
}
