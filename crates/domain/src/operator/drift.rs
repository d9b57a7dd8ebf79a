//! What of a release is not as it was released any more.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// So many objects are named in a sentence.
const NAMED: usize = 3;

/// What of a release is not as it was released any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// When it was first seen.
    pub since: Timestamp,
    /// What differs.
    pub objects: Vec<Drifted>,
}

/// An object that is not as it was released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drifted {
    /// Which: `Deployment shop/web`.
    pub object: String,
    /// Whether it is not there any more.
    #[serde(default)]
    pub gone: bool,
    /// The fields that differ, each as `path: is → was released`, or the path alone where the value is text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

impl Drift {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        let told: Vec<String> = self.objects.iter().take(NAMED).map(Drifted::words).collect();
        let more = match self.objects.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", told.join("; "))
    }
}

impl Drifted {
    fn words(&self) -> String {
        match (self.gone, self.fields.as_slice()) {
            (true, _) => format!("{} is gone", self.object),
            (false, []) => format!("{} differs", self.object),
            (false, [field]) => format!("{} differs in {field}", self.object),
            (false, [field, rest @ ..]) => {
                format!("{} differs in {field} and {} more", self.object, rest.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_the_first_few() {
        let object = |name: &str, gone, fields: &[&str]| Drifted {
            object: name.to_owned(),
            gone,
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        };
        let mut drift = Drift {
            since: Timestamp::UNIX_EPOCH,
            objects: vec![
                object(
                    "Deployment shop/web",
                    false,
                    &["spec.replicas: 5 → 2", "spec.paused: true → nothing"],
                ),
                object("ConfigMap shop/a", true, &[]),
            ],
        };
        assert_eq!(
            drift.sentence(),
            "Deployment shop/web differs in spec.replicas: 5 → 2 and 1 more; ConfigMap shop/a is gone"
        );
        drift.objects.extend([object("Service shop/a", true, &[]), object("Service shop/b", true, &[])]);
        assert!(drift.sentence().ends_with("Service shop/a is gone and 1 more"));
    }
}
