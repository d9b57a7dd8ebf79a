//! The values that a rollout is given, and those that it carries on; sealed where they are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipway_domain::access::Environment;
use slipway_domain::document::Kind;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::operator::{Installation, Operator, lay};
use slipway_domain::settings::Setting;
use slipway_domain::settings::values::Reach;
use zeroize::Zeroizing;

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::fleet::{Layer, Snapshot};
use crate::ports::store::{Sealed, StoredSetting};

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
    /// The values of a cluster, the weakest first. What earlier deployments were given is below what is kept in
    /// files: whoever wants to keep it says so there.
    pub(super) fn layers(&self, operator: &Operator, cluster: &Name, kept: Vec<Layer>) -> Vec<Layer> {
        let carried = self.carried.get(cluster).cloned().unwrap_or_default();
        let below = [Layer::new("operator", operator.default_values.clone()), Layer::new("release", carried)];
        let above = Layer::new("deployment", self.deployment.clone());
        let layers = below.into_iter().chain(kept).chain([above]);
        layers.filter(|layer| !layer.values.is_empty()).collect()
    }

    /// What the next deployment to a cluster carries on.
    fn handed_on(&self, cluster: &Name) -> Map<String, Value> {
        let mut values = self.carried.get(cluster).cloned().unwrap_or_default();
        lay(&mut values, &self.deployment);
        values
    }
}

/// What is kept in files for a cluster, the weakest first: environments before clusters, then by name.
fn kept(
    stored: Vec<StoredSetting>,
    operator: &Name,
    environment: Environment,
    cluster: &Name,
) -> Vec<(Reach, Layer)> {
    let reaching = stored.into_iter().filter_map(|stored| match stored.setting {
        Setting::Values(values) => {
            let reach = values.reach(operator, environment, cluster)?;
            let layer = Layer { source: reach.word(), document: Some(stored.name), values: values.values };
            Some((reach, layer))
        }
        _ => None,
    });
    let mut layers: Vec<(Reach, Layer)> = reaching.collect();
    layers.sort_by(|(a, one), (b, other)| (a, &one.document).cmp(&(b, &other.document)));
    layers
}

impl Manager {
    /// The values that are kept in files for an operator on a cluster, as they are now.
    pub(super) async fn kept_values(
        &self,
        operator: &Name,
        environment: Environment,
        cluster: &Name,
    ) -> Result<Vec<Layer>, Error> {
        let stored = self.store().settings(Some(Kind::Values)).await?;
        Ok(kept(stored, operator, environment, cluster).into_iter().map(|(_, layer)| layer).collect())
    }

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
        opened: &mut BTreeMap<RolloutId, Given>,
    ) -> Result<Map<String, Value>, Error> {
        let Some(installation) = installation else { return Ok(Map::new()) };
        let Some(earlier) = self.store().completed_before(operator.id, cluster, than).await? else {
            return self.installed_values(installation).await;
        };
        // What was given to a hundred clusters is opened once, not a hundred times.
        if let Some(given) = opened.get(&earlier) {
            return Ok(given.handed_on(cluster));
        }
        let given = self.given(earlier).await?;
        let values = given.handed_on(cluster);
        opened.insert(earlier, given);
        Ok(values)
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
    fn a_deployment_hands_its_values_on() {
        let cluster: Name = "prod-eu".parse().expect("a name");
        let given = Given {
            deployment: map(&json!({ "replicas": 3 })),
            carried: BTreeMap::from([(cluster.clone(), map(&json!({ "replicas": 1, "debug": true })))]),
        };
        let handed = given.handed_on(&cluster);
        assert_eq!(Value::Object(handed), json!({ "replicas": 3, "debug": true }));
    }

    #[test]
    fn files_lie_over_each_other_environments_below_clusters_and_then_by_name() {
        let stored = |name: &str, spec: Value| StoredSetting {
            name: name.to_owned(),
            setting: Setting::read(Kind::Values, &spec).expect("a setting").expect("values"),
            revision: 1,
            updated_at: jiff::Timestamp::UNIX_EPOCH,
        };
        let all = vec![
            stored("b-cluster", json!({"operator": "certs", "clusters": ["eu-1"], "values": {"a": 2}})),
            stored("a-cluster", json!({"operator": "certs", "clusters": ["eu-1"], "values": {"a": 1}})),
            stored("z-env", json!({"operator": "certs", "environments": ["Production"], "values": {"a": 0}})),
            stored("other", json!({"operator": "dns", "clusters": ["eu-1"], "values": {"a": 9}})),
            stored("staging", json!({"operator": "certs", "environments": ["Staging"], "values": {"a": 9}})),
        ];
        let name = |text: &str| text.parse::<Name>().expect("a name");
        let layers = kept(all, &name("certs"), Environment::Production, &name("eu-1"));
        let told: Vec<String> = layers
            .iter()
            .map(|(_, layer)| format!("{} {}", layer.source, layer.document.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(told, ["environment z-env", "cluster a-cluster", "cluster b-cluster"]);
    }
}
