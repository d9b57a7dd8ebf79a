//! Names of the children.
//!
//! An Application may be called anything that Kubernetes allows for an object: up to 253 characters, with
//! dots. Labels and Services allow less. Where a name does not fit, it is cut and a hash of the whole name
//! keeps it apart from others that are cut to the same.

use kube::ResourceExt;
use sha2::{Digest, Sha256};

use crate::crd::Application;

/// Longest label value and Service name.
const LABEL: usize = 63;

/// Longest name of a Deployment: the `ReplicaSets` made of it add a dash and a hash.
const DEPLOYMENT: usize = 253 - 11;

/// Longest name of any object.
const OBJECT: usize = 253;

/// Names of the children of one Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The Deployment.
    pub deployment: String,
    /// The Service.
    pub service: String,
    /// The `ConfigMap`.
    pub config_map: String,
    /// The `PodDisruptionBudget`.
    pub budget: String,
    /// The value of the labels that tell this Application's objects from others.
    pub instance: String,
}

impl Names {
    /// The names of an Application's children.
    pub fn of(app: &Application) -> Names {
        let name = app.name_any();
        Names {
            deployment: fitted(&name, "", DEPLOYMENT),
            service: service_name(&name),
            config_map: fitted(&name, "-config", OBJECT),
            budget: fitted(&name, "", OBJECT),
            instance: fitted(&name, "", LABEL),
        }
    }
}

/// `name` and `suffix`, cut to `longest` with a hash where that is needed.
fn fitted(name: &str, suffix: &str, longest: usize) -> String {
    if name.len() + suffix.len() <= longest {
        return format!("{name}{suffix}");
    }
    let hash = hash(name);
    let room = longest - suffix.len() - hash.len() - 1;
    let kept = name.get(..room).unwrap_or_default().trim_end_matches(['-', '.']);
    format!("{kept}-{hash}{suffix}")
}

/// A Service is a DNS label: without dots, and beginning with a letter.
fn service_name(name: &str) -> String {
    let starts_with_letter = name.starts_with(|first: char| first.is_ascii_lowercase());
    if starts_with_letter && !name.contains('.') {
        return fitted(name, "", LABEL);
    }
    let dashed = name.replace('.', "-");
    let lettered = if starts_with_letter { dashed } else { format!("app-{dashed}") };
    // The name was changed, so another Application may be called like that: the hash keeps them apart.
    let suffix = format!("-{}", hash(name));
    let kept = lettered.get(..LABEL - suffix.len()).unwrap_or(&lettered).trim_end_matches('-');
    format!("{kept}{suffix}")
}

fn hash(name: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let start = digest.first_chunk().copied().map(u32::from_be_bytes).unwrap_or_default();
    format!("{start:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::children::tests::app_named;

    #[test]
    fn children_are_called_like_the_application() {
        let names = Names::of(&app_named("web"));
        assert_eq!(
            (names.deployment.as_str(), names.service.as_str(), names.config_map.as_str()),
            ("web", "web", "web-config")
        );
        assert_eq!((names.budget.as_str(), names.instance.as_str()), ("web", "web"));
    }

    #[test]
    fn names_that_would_be_cut_to_the_same_stay_apart() {
        let long = "a".repeat(80);
        let (one, two) =
            (Names::of(&app_named(&format!("{long}1"))), Names::of(&app_named(&format!("{long}2"))));
        assert_ne!(one.service, two.service);
        assert_ne!(one.instance, two.instance);
        assert_eq!(one.deployment, format!("{long}1"));
        let (dot, dash) = (Names::of(&app_named("my.app")), Names::of(&app_named("my-app")));
        assert_ne!(dot.service, dash.service);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_kubernetes_takes(
            name in "[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?){0,3}"
        ) {
            let names = Names::of(&app_named(&name));
            let end = |text: &str| text.ends_with(|last: char| last.is_ascii_alphanumeric());
            prop_assert!(names.service.len() <= 63 && end(&names.service));
            prop_assert!(names.service.starts_with(|first: char| first.is_ascii_lowercase()));
            prop_assert!(names.service.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            prop_assert!(names.instance.len() <= 63 && end(&names.instance));
            prop_assert!(names.deployment.len() <= 242 && end(&names.deployment));
            prop_assert!(names.config_map.len() <= 253 && names.budget.len() <= 253);
        }
    }
}
