//! Processor time and memory of a pod.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// What each pod is given and may use at most.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "!has(self.requests) || !has(self.limits) || !has(self.requests.cpu) || !has(self.limits.cpu) \
         || !isQuantity(self.requests.cpu) || !isQuantity(self.limits.cpu) \
         || quantity(self.requests.cpu).compareTo(quantity(self.limits.cpu)) <= 0",
        "requests.cpu must not be above limits.cpu"
    ),
    rule(
        "!has(self.requests) || !has(self.limits) || !has(self.requests.memory) || !has(self.limits.memory) \
         || !isQuantity(self.requests.memory) || !isQuantity(self.limits.memory) \
         || quantity(self.requests.memory).compareTo(quantity(self.limits.memory)) <= 0",
        "requests.memory must not be above limits.memory"
    ),
]))]
pub struct Resources {
    /// What is set aside for each pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Amounts>,
    /// What a pod may use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Amounts>,
}

/// An amount of each resource.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Processor time, such as `500m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [rule(QUANTITY, "must be a quantity such as 500m or 2")]))]
    pub cpu: Option<String>,
    /// Memory, such as `128Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [rule(QUANTITY, "must be a quantity such as 128Mi or 1Gi")]))]
    pub memory: Option<String>,
}

const QUANTITY: &str = "isQuantity(self) && quantity(self).compareTo(quantity('0')) >= 0";
