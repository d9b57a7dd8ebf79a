//! The values that a rollout is given, and those that it carries on; sealed where they are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::operator::{Installation, Operator};
use zeroize::Zeroizing;

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::fleet::{Layer, Snapshot};
use crate::ports::store::Sealed;

/// What is kept of values with a rollout. They may hold secrets.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Given {
    /// With the request.
    pub(super) deployment: Map<String, Value>,
    /// What each cluster had from earlier deployments, or from a release that is taken over.
    pub(super) carried: BTreeMap<Name, Map<String, Value>>,
}

impl Given {
    /// The values of a cluster, the weakest first.
    pub(super) fn layers(&self, operator: &Operator, cluster: &Name) -> Vec<Layer> {
        let carried = self.carried.get(cluster).cloned().unwrap_or_default();
        let layers = [
            Layer { source: "operator", values: operator.default_values.clone() },
            Layer { source: "release", values: carried },
            Layer { source: "deployment", values: self.deployment.clone() },
        ];
        layers.into_iter().filter(|layer| !layer.values.is_empty()).collect()
    }

    /// What the next deployment to a cluster carries on.
    fn handed_on(mut self, cluster: &Name) -> Map<String, Value> {
        let mut values = self.carried.remove(cluster).unwrap_or_default();
        merge(&mut values, self.deployment);
        values
    }
}

/// Lays values over others, as helm does: objects are merged, everything else is replaced, and null takes away.
pub(super) fn merge(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

impl Manager {
    pub(super) fn seal_given(&self, id: RolloutId, given: &Given) -> Result<Sealed, Error> {
        self.seal_as(&format!("rollout/{id}"), given, "the values of a deployment")
    }

    pub(super) async fn given(&self, id: RolloutId) -> Result<Given, Error> {
        let sealed = self.store().rollout_values(id).await?;
        self.open_as(&format!("rollout/{id}"), sealed, "the values of a deployment")
    }

    pub(super) fn seal_snapshot(
        &self,
        id: RolloutId,
        cluster: &Name,
        snapshot: &Snapshot,
    ) -> Result<Sealed, Error> {
        self.seal_as(&format!("rollout/{id}/{cluster}"), snapshot, "a snapshot")
    }

    pub(super) async fn snapshot(&self, id: RolloutId, cluster: &Name) -> Result<Option<Snapshot>, Error> {
        let Some(sealed) = self.store().snapshot(id, cluster).await? else { return Ok(None) };
        self.open_as(&format!("rollout/{id}/{cluster}"), Some(sealed), "a snapshot").map(Some)
    }

    fn seal_as(&self, context: &str, value: &impl Serialize, what: &str) -> Result<Sealed, Error> {
        let failed = || Error::new(Code::InternalError, format!("{what} could not be sealed"));
        let plain = Zeroizing::new(serde_json::to_vec(value).map_err(|_| failed())?);
        let sealed = self.parts.keyring.seal(context, &plain);
        sealed.map(Sealed).map_err(|error| failed().caused_by(error))
    }

    fn open_as<T: Default + for<'a> Deserialize<'a>>(
        &self,
        context: &str,
        sealed: Option<Sealed>,
        what: &str,
    ) -> Result<T, Error> {
        let Some(Sealed(sealed)) = sealed else { return Ok(T::default()) };
        let opened = self.parts.keyring.open(context, &sealed);
        let plain = opened.map_err(|error| {
            Error::new(Code::Unavailable, format!("{what} cannot be opened")).caused_by(error)
        })?;
        serde_json::from_slice(&plain)
            .map_err(|_| Error::new(Code::InternalError, format!("{what} that was kept cannot be read")))
    }

    /// What a cluster carries on: the values of the last deployment that was completed there, else those of
    /// the release that is found.
    pub(super) async fn carried(
        &self,
        operator: &Operator,
        cluster: &Name,
        installation: Option<&Installation>,
        than: RolloutId,
    ) -> Result<Map<String, Value>, Error> {
        let Some(installation) = installation else { return Ok(Map::new()) };
        if let Some(earlier) = self.store().completed_before(operator.id, cluster, than).await? {
            return Ok(self.given(earlier).await?.handed_on(cluster));
        }
        self.installed_values(installation).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn values_are_merged_as_helm_does() {
        let mut below =
            map(&json!({ "image": { "tag": "1", "repository": "a" }, "list": [1, 2], "gone": 1 }));
        merge(&mut below, map(&json!({ "image": { "tag": "2" }, "list": [3], "gone": null })));
        let merged = json!({ "image": { "tag": "2", "repository": "a" }, "list": [3], "gone": null });
        assert_eq!(Value::Object(below), merged);
    }

    #[test]
    fn a_deployment_hands_its_values_on() {
        let cluster: Name = "prod-eu".parse().expect("a name");
        let given = Given {
            deployment: map(&json!({ "replicas": 3 })),
            carried: BTreeMap::from([(cluster.clone(), map(&json!({ "replicas": 1, "debug": true })))]),
        };
        let handed = given.handed_on(&cluster);
        assert_eq!(Value::Object(handed), json!({ "replicas": 3, "debug": true }));
    }
}
