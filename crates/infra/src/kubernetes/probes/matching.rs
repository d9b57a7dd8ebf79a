//! Whether a webhook would look at an object: the API server's own rules.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use super::hook::Hook;

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Update,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
        }
    }
}

/// A kind of object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
}

/// An object that a webhook might look at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) resource: Resource,
    pub(super) namespace: Option<String>,
    pub(super) namespace_labels: BTreeMap<String, String>,
    pub(super) object: Value,
}

impl Candidate {
    fn labels(&self) -> BTreeMap<String, String> {
        labels(&self.object)
    }
}

/// The labels of an object.
pub(super) fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Whether a webhook looks at an object when this is done to it.
pub(super) fn looks_at(hook: &Hook, candidate: &Candidate, operation: Operation) -> bool {
    let namespace_counts =
        candidate.namespace.is_none() || selects(&hook.namespaces, &candidate.namespace_labels);
    namespace_counts
        && selects(&hook.objects, &candidate.labels())
        && hook
            .rules
            .iter()
            .any(|rule| applies(rule, &candidate.resource, operation, candidate.namespace.is_some()))
}

/// Whether a rule is about this. Versions of one kind are the same to it: that is how the API server matches
/// unless it is told otherwise.
pub(super) fn applies(
    rule: &RuleWithOperations,
    resource: &Resource,
    operation: Operation,
    namespaced: bool,
) -> bool {
    let has = |list: &Option<Vec<String>>, word: &str| {
        list.iter().flatten().any(|item| item == "*" || item == word)
    };
    let scope = match rule.scope.as_deref() {
        Some("Cluster") => !namespaced,
        Some("Namespaced") => namespaced,
        _ => true,
    };
    let plural =
        rule.resources.iter().flatten().any(|item| item == "*" || item == "*/*" || *item == resource.plural);
    scope && plural && has(&rule.operations, operation.word()) && has(&rule.api_groups, &resource.group)
}

/// Whether labels satisfy a selector; an empty one is satisfied by all.
pub(super) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let holds = selector.match_expressions.iter().flatten().all(|expression| {
        let value = labels.get(&expression.key);
        let listed = value.is_some_and(|value| expression.values.iter().flatten().any(|item| item == value));
        match expression.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    equal && holds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(value: Value) -> RuleWithOperations {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn rules_are_read_as_the_api_server_reads_them() {
        let resource = Resource { group: "sea.dev".into(), version: "v1".into(), plural: "boats".into() };
        let base = json!({"apiGroups": ["sea.dev"], "apiVersions": ["v1"], "resources": ["boats"], "operations": ["CREATE"]});
        let with = |key: &str, value: Value| {
            let mut changed = base.clone();
            changed[key] = value;
            rule(changed)
        };
        assert!(applies(&rule(base.clone()), &resource, Operation::Create, true));
        assert!(!applies(&rule(base.clone()), &resource, Operation::Update, true));
        assert!(applies(&with("operations", json!(["*"])), &resource, Operation::Update, true));
        assert!(applies(&with("resources", json!(["*"])), &resource, Operation::Create, true));
        assert!(!applies(&with("resources", json!(["boats/status"])), &resource, Operation::Create, true));
        assert!(applies(&with("apiGroups", json!(["*"])), &resource, Operation::Create, true));
        assert!(!applies(&with("apiGroups", json!([""])), &resource, Operation::Create, true));
        assert!(!applies(&with("scope", json!("Cluster")), &resource, Operation::Create, true));
        assert!(applies(&with("scope", json!("Cluster")), &resource, Operation::Create, false));
    }

    #[test]
    fn selectors_select_by_labels_and_expressions() {
        let labels = BTreeMap::from([("tier".to_owned(), "sea".to_owned())]);
        let expression = |operator: &str, key: &str| -> LabelSelector {
            serde_json::from_value(
                json!({"matchExpressions": [{"key": key, "operator": operator, "values": ["sea"]}]}),
            )
            .unwrap()
        };
        assert!(selects(&LabelSelector::default(), &labels));
        let equal: LabelSelector = serde_json::from_value(json!({"matchLabels": {"tier": "sea"}})).unwrap();
        assert!(selects(&equal, &labels) && !selects(&equal, &BTreeMap::new()));
        for (operator, key, expected) in [
            ("In", "tier", true),
            ("NotIn", "tier", false),
            ("NotIn", "other", true),
            ("Exists", "tier", true),
            ("DoesNotExist", "tier", false),
            ("In", "other", false),
        ] {
            assert_eq!(selects(&expression(operator, key), &labels), expected, "{operator} {key}");
        }
    }
}
