//! What a chart gets in an environment, or on single clusters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::scope::EnvironmentWord;
use crate::access::Environment;
use crate::document::Fields;
use crate::name::Name;
use crate::operator::{check_secrets, check_values};
use crate::problem::Problems;

/// Helm values of an operator in some environments, or on some clusters: one of both. They lie over the
/// operator's own, those of clusters over those of environments, and what a deployment is given over all. Of
/// several that apply, those later by name lie over the earlier ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Values {
    /// The name of the operator.
    #[schemars(with = "String")]
    pub operator: Name,
    /// Environments: Development, Staging, Production.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<EnvironmentWord>")]
    pub environments: Vec<Environment>,
    /// Names of clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub clusters: Vec<Name>,
    /// The values. Everybody can read them: a secret is {"$secret": {"name": …, "key": …}}, a key of a Secret
    /// that is on the cluster.
    pub values: Map<String, Value>,
    /// Paths of values that are called like secrets and are none, such as auth.tokenLifetime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_secret: Vec<String>,
}

/// Whom values are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// All clusters of an environment.
    Environment,
    /// Single clusters; they count more.
    Cluster,
}

impl Reach {
    /// As the source of a value.
    pub fn word(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Cluster => "cluster",
        }
    }
}

impl Values {
    /// Reads it, and says all that is wrong.
    pub fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let operator = fields.required("operator");
        let environments: Vec<Environment> = fields.optional("environments").unwrap_or_default();
        let clusters: Vec<Name> = fields.optional("clusters").unwrap_or_default();
        let values: Option<Map<String, Value>> = fields.required("values");
        let not_secret: Vec<String> = fields.optional("notSecret").unwrap_or_default();
        fields.end();
        if let Some(values) = &values {
            if values.is_empty() {
                problems.add("values", "is empty");
            }
            problems.take("values", check_values(values));
            problems.nest("values", check_secrets(values, &not_secret));
        }
        if problems.is_empty() {
            match (environments.is_empty(), clusters.is_empty()) {
                (true, true) => {
                    problems.add("", "is for nobody: give environments or clusters; values for all are the operator's defaultValues");
                }
                (false, false) => {
                    problems.add("clusters", "stands beside environments; write a document for each");
                }
                _ => {}
            }
        }
        match (operator, values) {
            (Some(operator), Some(values)) => {
                problems.or(Self { operator, environments, clusters, values, not_secret })
            }
            _ => Err(problems),
        }
    }

    /// Whether it is for an operator on a cluster, and why.
    pub fn reach(&self, operator: &Name, environment: Environment, cluster: &Name) -> Option<Reach> {
        if self.operator != *operator {
            None
        } else if self.clusters.contains(cluster) {
            Some(Reach::Cluster)
        } else if self.environments.contains(&environment) {
            Some(Reach::Environment)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_and_written_as_they_were() {
        let spec = json!({
            "operator": "cert-manager",
            "clusters": ["eu-1"],
            "values": {"replicas": 3, "gone": null, "auth": {"password": {"$secret": {"name": "a", "key": "b"}}},
                "tokenLifetime": "1h"},
            "notSecret": ["tokenLifetime"],
        });
        let values = Values::read(&spec).unwrap();
        assert_eq!(serde_json::to_value(&values).unwrap(), spec);
    }

    #[test]
    fn everything_wrong_is_said_at_once_and_no_secret_with_it() {
        let spec =
            json!({"environments": ["Moon"], "value": {}, "values": {"auth": {"password": "hunter2"}}});
        let told = Values::read(&spec).unwrap_err().to_string();
        for part in [
            "operator is missing",
            "environments unknown variant `Moon`",
            "value is not a field here; did you mean values?",
            "values.auth.password is called like a secret",
        ] {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
        assert!(!told.contains("hunter2"), "{told}");
        let nobody = json!({"operator": "x", "values": {"a": 1}});
        assert!(Values::read(&nobody).unwrap_err().to_string().starts_with("is for nobody"));
        let both =
            json!({"operator": "x", "environments": ["Staging"], "clusters": ["a"], "values": {"a": 1}});
        assert!(Values::read(&both).unwrap_err().to_string().starts_with("clusters stands beside"));
        let nothing = json!({"operator": "x", "clusters": ["a"], "values": {}});
        assert_eq!(Values::read(&nothing).unwrap_err().to_string(), "values is empty");
    }

    #[test]
    fn values_reach_the_clusters_they_name_and_no_other_operator() {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let read = |spec: Value| Values::read(&spec).unwrap();
        let production =
            read(json!({"operator": "certs", "environments": ["Production"], "values": {"a": 1}}));
        let one = read(json!({"operator": "certs", "clusters": ["eu-1"], "values": {"a": 1}}));
        let reach = |values: &Values, operator: &str, environment, cluster: &str| {
            values.reach(&name(operator), environment, &name(cluster))
        };
        let (staging, production_environment) = (Environment::Staging, Environment::Production);
        assert_eq!(reach(&production, "certs", production_environment, "eu-1"), Some(Reach::Environment));
        assert_eq!(reach(&production, "certs", staging, "eu-1"), None);
        assert_eq!(reach(&production, "dns", production_environment, "eu-1"), None);
        assert_eq!(reach(&one, "certs", staging, "eu-1"), Some(Reach::Cluster));
        assert_eq!(reach(&one, "certs", staging, "eu-2"), None);
    }
}
