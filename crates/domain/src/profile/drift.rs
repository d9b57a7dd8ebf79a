//! What becomes of changes that others make to what was released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of changes that others make to what was released. They are shown in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftCare {
    /// Whether what was released is rolled out once more.
    #[serde(default, skip_serializing_if = "is_no")]
    pub mend: bool,
    /// What others write by design, each as `Kind path`, such as `ConfigMap data`; a path holds for everything
    /// below it, and `Kind` alone for whole objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_no(value: &bool) -> bool {
    !*value
}

impl DriftCare {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether somebody else writes a field of an object, such as `Deployment shop/web`, by design; an empty path
    /// stands for the whole object.
    pub fn ignores(&self, object: &str, path: &str) -> bool {
        let kind = object.split(' ').next().unwrap_or_default();
        self.ignore.iter().any(|rule| match rule.split_once(' ') {
            Some((of, below)) => {
                let rest = path.strip_prefix(below.trim());
                of == kind && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            }
            None => rule == kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_named_by_kind_and_path() {
        let care = DriftCare {
            mend: true,
            ignore: vec![
                "ConfigMap data".to_owned(),
                "Lease".to_owned(),
                "Deployment spec.replicas".to_owned(),
            ],
        };
        assert!(care.ignores("ConfigMap shop/a", "data.key") && care.ignores("ConfigMap shop/a", "data"));
        assert!(!care.ignores("ConfigMap shop/a", "dataOther") && !care.ignores("ConfigMap shop/a", ""));
        assert!(!care.ignores("Secret shop/a", "data.key"));
        assert!(care.ignores("Lease shop/a", "") && care.ignores("Lease shop/a", "spec.holderIdentity"));
        assert!(!care.ignores("Deployment shop/a", "spec.template"));
    }
}
