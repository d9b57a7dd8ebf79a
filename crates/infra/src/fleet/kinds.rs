//! Where objects of a kind are found: what the API server says it serves, and what CRDs will make it serve.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use tokio::sync::Mutex;

use super::api::{Api, Trouble};
use super::object::group_and_version;

/// A kind that is served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

impl Kind {
    /// Where its objects of a namespace, or all of them, are.
    pub(crate) fn collection(&self, namespace: Option<&str>) -> String {
        let base = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{}", self.plural),
            None => format!("{base}/{}", self.plural),
        }
    }

    /// Where one of them is.
    pub(crate) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// Of a version of a CRD.
    pub(crate) fn of_crd(crd: &Crd, version: &str) -> Self {
        Self {
            group: crd.group().to_owned(),
            version: version.to_owned(),
            plural: crd.plural().to_owned(),
            namespaced: crd.scope() == "Namespaced",
        }
    }
}

/// The kinds of one cluster, each group asked for once.
#[derive(Default)]
pub(crate) struct Kinds {
    served: Mutex<BTreeMap<String, BTreeMap<String, Kind>>>,
}

impl Kinds {
    /// Where objects of a kind are; nothing where the cluster does not know it.
    pub(crate) async fn find(
        &self,
        api: &Api,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Kind>, Trouble> {
        let mut served = self.served.lock().await;
        if let Some(kinds) = served.get(api_version) {
            return Ok(kinds.get(kind).cloned());
        }
        let (group, version) = group_and_version(api_version);
        let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{api_version}") };
        let list = api.find(&path).await?.unwrap_or_default();
        let resources = list.get("resources").and_then(Value::as_array);
        let mut kinds = BTreeMap::new();
        for resource in resources.into_iter().flatten() {
            let text = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default();
            let plural = text("name");
            // What has a slash is a part of another resource.
            if plural.is_empty() || plural.contains('/') {
                continue;
            }
            let namespaced = resource.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
            let found = Kind {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                namespaced,
            };
            kinds.insert(text("kind").to_owned(), found);
        }
        let found = kinds.get(kind).cloned();
        served.insert(api_version.to_owned(), kinds);
        Ok(found)
    }
}
