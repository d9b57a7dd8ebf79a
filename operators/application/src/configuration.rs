//! What this operator can be told beyond what every operator can: the section `application` of its file.

use serde::Deserialize;

use crate::policy::Profile;

/// The key of the configuration file.
pub const SECTION: &str = "application";

/// The section of the configuration file that is this operator's own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// The webhook configurations that the CA is written into; none if somebody else sees to that.
    pub webhook_configuration: Option<String>,
    /// The rules that Applications are held against. A change of these is taken up without a restart.
    pub policy: Profile,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_key_is_refused_by_its_name() {
        let error = serde_json::from_value::<Configuration>(json!({"polciy": {}})).unwrap_err().to_string();
        assert!(error.contains("polciy"), "{error}");
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let read: Configuration = serde_json::from_value(json!({"webhookConfiguration": "x"})).unwrap();
        assert_eq!(read.policy, Profile::default());
        assert_eq!(read.webhook_configuration.as_deref(), Some("x"));
    }
}
