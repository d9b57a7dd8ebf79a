//! Between the versions of an Application, both ways, without loss.
//!
//! What one version cannot say travels in an annotation: resources, which `v1beta1` does not know, on
//! `v1beta1` objects; the order of the environment, which `v1` does not keep, on `v1` objects. Both belong
//! to the conversion. One that somebody wrote by hand and that cannot be read counts for nothing.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;

use crate::crd::v1::{Application, ApplicationSpec, Strategy};
use crate::crd::v1beta1::{self, Application as V1Beta1Application, Container, EnvVar, Rollout};

/// On `v1beta1` objects: `spec.resources` of `v1`, as JSON.
pub const V1_RESOURCES: &str = "cloudnative.elide.dev/v1-resources";

/// On `v1` objects: the names of `spec.env` of `v1beta1` in their order, as JSON, where that is not the
/// alphabet's.
pub const V1BETA1_ENV_ORDER: &str = "cloudnative.elide.dev/v1beta1-env-order";

/// The same Application in `v1`.
pub fn v1beta1_to_v1(app: &V1Beta1Application) -> Application {
    let mut metadata = app.metadata.clone();
    let resources = take(&mut metadata, V1_RESOURCES).and_then(|text| serde_json::from_str(&text).ok());
    take(&mut metadata, V1BETA1_ENV_ORDER);
    let names: Vec<&str> = app.spec.env.iter().map(|variable| variable.name.as_str()).collect();
    if !names.is_sorted()
        && let Ok(order) = serde_json::to_string(&names)
    {
        metadata.annotations.get_or_insert_default().insert(V1BETA1_ENV_ORDER.to_owned(), order);
    }
    let config = app.spec.env.iter().map(|variable| (variable.name.clone(), variable.value.clone()));
    Application {
        metadata,
        spec: ApplicationSpec {
            replicas: app.spec.replicas,
            image: app.spec.container.image.clone(),
            strategy: app.spec.rollout.map(|rollout| match rollout {
                Rollout::Rolling => Strategy::RollingUpdate,
                Rollout::Recreate => Strategy::Recreate,
            }),
            config: config.collect(),
            resources,
        },
        status: app.status.clone(),
    }
}

/// The same Application in `v1beta1`.
pub fn v1_to_v1beta1(app: &Application) -> V1Beta1Application {
    let mut metadata = app.metadata.clone();
    let order: Option<Vec<String>> =
        take(&mut metadata, V1BETA1_ENV_ORDER).and_then(|text| serde_json::from_str(&text).ok());
    take(&mut metadata, V1_RESOURCES);
    if let Some(resources) = &app.spec.resources
        && let Ok(text) = serde_json::to_string(resources)
    {
        metadata.annotations.get_or_insert_default().insert(V1_RESOURCES.to_owned(), text);
    }
    V1Beta1Application {
        metadata,
        spec: v1beta1::ApplicationSpec {
            replicas: app.spec.replicas,
            container: Container { image: app.spec.image.clone() },
            env: environment(&app.spec.config, &order.unwrap_or_default()),
            rollout: app.spec.strategy.map(|strategy| match strategy {
                Strategy::RollingUpdate => Rollout::Rolling,
                Strategy::Recreate => Rollout::Recreate,
            }),
        },
        status: app.status.clone(),
    }
}

/// The environment in the order it had; what came to it since follows in the alphabet's.
fn environment(config: &BTreeMap<String, String>, order: &[String]) -> Vec<EnvVar> {
    let mut rest = config.clone();
    let mut found: Vec<EnvVar> = Vec::with_capacity(config.len());
    for name in order {
        if let Some((name, value)) = rest.remove_entry(name) {
            found.push(EnvVar { name, value });
        }
    }
    found.extend(rest.into_iter().map(|(name, value)| EnvVar { name, value }));
    found
}

/// Takes an annotation off. A map that it leaves empty was not there before the conversion added to it.
fn take(metadata: &mut ObjectMeta, key: &str) -> Option<String> {
    let annotations = metadata.annotations.as_mut()?;
    let found = annotations.remove(key)?;
    if annotations.is_empty() {
        metadata.annotations = None;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::{Amounts, Resources};
    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::{Just, prop_assert_eq, prop_compose, prop_oneof, proptest};
    use proptest::strategy::Strategy as Generator;
    use std::collections::BTreeSet;

    fn amounts() -> impl Generator<Value = Amounts> {
        let amount = || option::of("[0-9]{1,4}(m|Mi|Gi)?");
        (amount(), amount()).prop_map(|(cpu, memory)| Amounts { cpu, memory })
    }

    fn resources() -> impl Generator<Value = Option<Resources>> {
        let part = || option::of(amounts());
        option::of((part(), part()).prop_map(|(requests, limits)| Resources { requests, limits }))
    }

    fn metadata() -> impl Generator<Value = ObjectMeta> {
        let map = || option::of(btree_map("[a-z]{1,5}(/[a-z]{1,5})?", ".{0,8}", 1..4));
        (map(), map()).prop_map(|(labels, annotations)| ObjectMeta {
            name: Some("web".to_owned()),
            labels,
            annotations,
            ..ObjectMeta::default()
        })
    }

    prop_compose! {
        fn v1()(
            metadata in metadata(),
            replicas in 0..=100,
            image in "[a-z]{1,12}(:[a-z0-9]{1,5})?",
            strategy in option::of(prop_oneof![Just(Strategy::RollingUpdate), Just(Strategy::Recreate)]),
            config in btree_map("[A-Z_.]{1,4}", ".{0,12}", 0..6),
            resources in resources(),
        ) -> Application {
            let spec = ApplicationSpec { replicas, image, strategy, config, resources };
            Application { metadata, spec, status: None }
        }
    }

    prop_compose! {
        fn v1beta1()(
            metadata in metadata(),
            resources in resources(),
            replicas in 0..=100,
            image in "[a-z]{1,12}(:[a-z0-9]{1,5})?",
            rollout in option::of(prop_oneof![Just(Rollout::Rolling), Just(Rollout::Recreate)]),
            pairs in vec(("[A-Z_.]{1,4}", ".{0,12}"), 0..6),
        ) -> V1Beta1Application {
            // A name stands once, as the schema demands.
            let mut seen = BTreeSet::new();
            let env = pairs
                .into_iter()
                .filter(|(name, _)| seen.insert(name.clone()))
                .map(|(name, value)| EnvVar { name, value })
                .collect();
            let mut metadata = metadata;
            if let Some(resources) = resources {
                let text = serde_json::to_string(&resources).unwrap();
                metadata.annotations.get_or_insert_default().insert(V1_RESOURCES.to_owned(), text);
            }
            let spec = v1beta1::ApplicationSpec { replicas, container: Container { image }, env, rollout };
            V1Beta1Application { metadata, spec, status: None }
        }
    }

    proptest! {
        #[test]
        fn a_v1_object_survives_being_v1beta1(app in v1()) {
            prop_assert_eq!(v1beta1_to_v1(&v1_to_v1beta1(&app)), app);
        }

        #[test]
        fn a_v1beta1_object_survives_being_v1(app in v1beta1()) {
            prop_assert_eq!(v1_to_v1beta1(&v1beta1_to_v1(&app)), app);
        }

        #[test]
        fn annotations_written_by_hand_bring_nothing_down(app in v1(), text in ".{0,20}") {
            let mut app = app;
            for key in [V1_RESOURCES, V1BETA1_ENV_ORDER] {
                app.metadata.annotations.get_or_insert_default().insert(key.to_owned(), text.clone());
            }
            prop_assert_eq!(v1beta1_to_v1(&v1_to_v1beta1(&app)).spec, app.spec);
        }
    }

    #[test]
    fn a_variable_added_in_v1_follows_those_whose_order_is_known() {
        let env = |names: &[&str]| -> Vec<EnvVar> {
            names.iter().map(|name| EnvVar { name: (*name).to_owned(), value: String::new() }).collect()
        };
        let spec = v1beta1::ApplicationSpec {
            replicas: 1,
            container: Container { image: "nginx".to_owned() },
            env: env(&["Z", "B"]),
            rollout: None,
        };
        let mut stored = v1beta1_to_v1(&V1Beta1Application::new("web", spec));
        stored.spec.config.insert("A".to_owned(), String::new());
        assert_eq!(v1_to_v1beta1(&stored).spec.env, env(&["Z", "B", "A"]));
    }
}
