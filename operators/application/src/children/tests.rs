//! What an Application becomes.

use std::collections::BTreeMap;

use super::*;
use crate::crd::{Amounts, ApplicationSpec, Resources, Strategy};

pub(super) fn app_named(name: &str) -> Application {
    let spec = ApplicationSpec {
        replicas: 1,
        image: "docker.io/library/nginx:1.29".to_owned(),
        strategy: None,
        config: BTreeMap::new(),
        resources: None,
    };
    let mut app = Application::new(name, spec);
    app.metadata.namespace = Some("shop".to_owned());
    app
}

fn full() -> Application {
    let mut app = app_named("web");
    app.spec.replicas = 3;
    app.spec.strategy = Some(Strategy::Recreate);
    app.spec.config = [("PORT", "3000"), ("GREETING", "ahoy")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let amounts = |cpu: &str, memory: &str| {
        Some(Amounts { cpu: Some(cpu.to_owned()), memory: Some(memory.to_owned()) })
    };
    app.spec.resources = Some(Resources { requests: amounts("0.5", "1024Mi"), limits: amounts("2", "2Gi") });
    app
}

#[test]
fn a_full_application_becomes_four_objects() {
    let Children { deployment, service, config_map, budget } = Children::of(&full()).unwrap();
    insta::assert_yaml_snapshot!("full-deployment", deployment);
    insta::assert_yaml_snapshot!("full-service", service);
    insta::assert_yaml_snapshot!("full-config-map", config_map);
    insta::assert_yaml_snapshot!("full-budget", budget);
}

#[test]
fn a_small_application_becomes_a_deployment_and_a_service() {
    let Children { deployment, service, config_map, budget } = Children::of(&app_named("web")).unwrap();
    insta::assert_yaml_snapshot!("small-deployment", deployment);
    insta::assert_yaml_snapshot!("small-service", service);
    assert_eq!((config_map, budget), (None, None));
}

#[test]
fn the_pods_are_found_by_the_selector_that_the_status_names() {
    let app = full();
    let pods = Children::of(&app).unwrap().deployment.spec.template.metadata.unwrap().labels.unwrap();
    for pair in selector_string(&app).split(',') {
        let (key, value) = pair.split_once('=').unwrap();
        assert_eq!(pods.get(key).map(String::as_str), Some(value));
    }
}

#[test]
fn the_selector_stays_whatever_else_changes() {
    let selector = |app: &Application| Children::of(app).unwrap().deployment.spec.selector;
    assert_eq!(selector(&full()), selector(&app_named("web")));
    assert_ne!(selector(&full()), selector(&app_named("web2")));
}

#[test]
fn a_change_of_the_environment_rolls_the_pods_and_nothing_else_does() {
    let template = |app: &Application| Children::of(app).unwrap().deployment.spec.template;
    let (before, mut scaled, mut changed) = (full(), full(), full());
    scaled.spec.replicas = 5;
    assert_eq!(template(&before), template(&scaled));
    changed.spec.config.insert("GREETING".to_owned(), "land in sight".to_owned());
    assert_ne!(template(&before), template(&changed));
}

#[test]
fn a_hash_tells_apart_what_reads_the_same_when_joined() {
    let with = |key: &str, value: &str| {
        let mut app = app_named("web");
        app.spec.config.insert(key.to_owned(), value.to_owned());
        config_hash(&app)
    };
    assert_ne!(with("a", "bc"), with("ab", "c"));
    assert_eq!(config_hash(&app_named("web")), None);
}

#[test]
fn a_spec_that_slipped_through_is_refused_by_field_and_value() {
    let mut app = full();
    app.spec.config.insert("PORT".to_owned(), "http".to_owned());
    let error = Children::of(&app).unwrap_err().to_string();
    assert_eq!(error, "spec.config.PORT is \"http\"; it must be a port number from 1 to 65535");
    let mut app = full();
    app.spec.resources = Some(Resources {
        limits: Some(Amounts { cpu: None, memory: Some("128mb".to_owned()) }),
        ..Resources::default()
    });
    let error = Children::of(&app).unwrap_err().to_string();
    assert!(error.starts_with("spec.resources.limits.memory is \"128mb\""), "{error}");
}
