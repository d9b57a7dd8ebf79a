//! What is admitted under which profile.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::crd::{Amounts, ApplicationSpec, MANAGED_BY, MANAGER, Resources, Strategy as Replacing};

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn app(image: &str) -> Application {
    let amounts = || Some(Amounts { cpu: Some("500m".to_owned()), memory: Some("128Mi".to_owned()) });
    let spec = ApplicationSpec {
        replicas: 2,
        image: image.to_owned(),
        strategy: None,
        config: BTreeMap::new(),
        resources: Some(Resources { requests: None, limits: amounts() }),
    };
    Application::new("web", spec)
}

fn fields(findings: &Findings) -> Vec<&str> {
    findings.denials.iter().map(|denial| denial.field.as_str()).collect()
}

fn profile(json: &str) -> Profile {
    serde_json::from_str(json).unwrap()
}

#[test]
fn images_of_the_allowed_registries_are_admitted() {
    for image in [
        "nginx:1.29",
        "library/nginx:1.29",
        "docker.io/nginx:1.29",
        "gcr.io/team/app:v1",
        "GCR.IO/team/app:v1",
        "gcr.io:443/team/app:v1",
        &format!("gcr.io/team/app@{DIGEST}"),
        "bitnami/ubuntu:24.04",
        "gcr.io/team/ubuntu:1",
    ] {
        assert_eq!(check(&app(image), &Profile::default()), Findings::default(), "{image}");
    }
}

#[test]
fn images_from_elsewhere_are_refused_with_the_registries_that_are_allowed() {
    for image in
        ["quay.io/team/app:1", "localhost:5000/app:1", "mirror.gcr.io/library/nginx:1", "gcr.io:5000/app:1"]
    {
        let findings = check(&app(image), &Profile::default());
        assert_eq!(fields(&findings), ["spec.image"], "{image}");
        assert!(findings.denials[0].message.ends_with("allowed are: gcr.io, docker.io"), "{findings:?}");
    }
}

#[test]
fn no_spelling_of_a_blocked_image_gets_through() {
    for image in [
        "ubuntu:24.04".to_owned(),
        "library/ubuntu:24.04".to_owned(),
        "docker.io/ubuntu:24.04".to_owned(),
        "docker.io/library/ubuntu:24.04".to_owned(),
        "index.docker.io/ubuntu:24.04".to_owned(),
        "registry-1.docker.io/library/ubuntu:24.04".to_owned(),
        "Docker.IO/library/ubuntu:24.04".to_owned(),
        "docker.io:443/library/ubuntu:24.04".to_owned(),
        format!("ubuntu@{DIGEST}"),
        format!("docker.io/library/ubuntu:24.04@{DIGEST}"),
        "debian:13-slim".to_owned(),
        "alpine:3".to_owned(),
    ] {
        let findings = check(&app(&image), &Profile::default());
        assert_eq!(fields(&findings), ["spec.image"], "{image}");
        assert!(findings.denials[0].message.contains("is blocked in this cluster"), "{findings:?}");
    }
}

#[test]
fn what_is_no_reference_is_refused_with_the_reason() {
    for (image, reason) in [
        ("Nginx:1", "small letters"),
        ("nginx:", "no tag"),
        ("nginx:-1", "no tag"),
        ("nginx@sha256:abc", "no digest"),
        ("nginx@md5:d41d8cd98f00b204e9800998ecf8427e", "no digest"),
        ("gcr.io/", "no repository"),
        ("gcr.io//app", "no repository"),
        ("nginx..x", "no repository"),
        ("gcr.io/a___b", "no repository"),
        ("-gcr.io/app", "no registry"),
        ("gcr.io:99999/app", "no registry"),
        ("gcr.io:/app", "no registry"),
        ("ngi nx", "blank"),
        ("https://gcr.io/app", "no registry"),
        (&"a".repeat(300), "more than 255"),
        (&"a".repeat(64), "an id"),
    ] {
        let findings = check(&app(image), &Profile::default());
        assert_eq!(fields(&findings), ["spec.image"], "{image}");
        assert!(findings.denials[0].message.contains(reason), "{findings:?}");
    }
    let findings = check(&app("  "), &Profile::default());
    assert_eq!(findings.denials[0].message, "the image must not be blank");
    assert_eq!(findings.denials.len(), 1);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let mut app = app("quay.io/team/app:1");
    app.spec.replicas = 101;
    app.spec.config = [("PORT", "http"), ("no blanks", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let amounts = |cpu: &str| Some(Amounts { cpu: Some(cpu.to_owned()), memory: Some("much".to_owned()) });
    app.spec.resources = Some(Resources { requests: amounts("2"), limits: amounts("1500m") });
    let findings = check(&app, &Profile::default());
    assert_eq!(
        fields(&findings),
        [
            "spec.replicas",
            "spec.config",
            "spec.config.PORT",
            "spec.resources.requests.memory",
            "spec.resources.limits.memory",
            "spec.resources.requests.cpu",
            "spec.image"
        ]
    );
    assert!(findings.denials[0].message.contains("HorizontalPodAutoscaler"));
    assert_eq!(findings.denials[5].message, "2 is above the limit of 1500m");
    app.spec.replicas = -1;
    assert_eq!(check(&app, &Profile::default()).denials[0].message, "-1 is less than 0");
}

#[test]
fn what_is_unwise_is_a_warning_by_default_and_refused_when_strict() {
    for image in ["nginx", "nginx:latest"] {
        let mut app = app(image);
        app.spec.resources = None;
        let findings = check(&app, &Profile::default());
        assert!(findings.admitted());
        assert_eq!(findings.warnings.len(), 2, "{findings:?}");
        let strict = check(&app, &Profile::preset(Preset::Strict));
        assert_eq!(fields(&strict), ["spec.resources.limits", "spec.image"]);
        let silent = profile(r#"{"preset": "permissive", "requireLimits": "off", "latestTag": "off"}"#);
        assert_eq!(check(&app, &silent), Findings::default());
    }
    // A digest says exactly what runs.
    let pinned = format!("nginx:latest@{DIGEST}");
    assert_eq!(check(&app(&pinned), &Profile::preset(Preset::Strict)), Findings::default());
}

#[test]
fn a_part_of_a_registry_is_told_from_one_that_begins_like_it() {
    let profile = profile(r#"{"allowedRegistries": ["gcr.io/team", "LOCALHOST:5000"]}"#);
    let admitted = |image: &str| check(&app(image), &profile).admitted();
    assert!(admitted("gcr.io/team/app:1") && admitted("localhost:5000/app:1"));
    assert!(!admitted("gcr.io/teamwork/app:1") && !admitted("nginx:1"));
}

#[test]
fn one_tag_can_be_blocked_alone() {
    let profile = profile(r#"{"blockedImages": ["nginx:1.0"]}"#);
    assert!(!check(&app("docker.io/library/nginx:1.0"), &profile).admitted());
    assert!(check(&app("nginx:1.1"), &profile).admitted());
}

#[test]
fn a_profile_that_makes_no_sense_is_refused_by_name() {
    for (json, words) in [
        (r#"{"allowedRegistry": []}"#, "unknown field `allowedRegistry`"),
        (r#"{"allowedRegistries": []}"#, "[\"*\"]"),
        (r#"{"allowedRegistries": ["https://gcr.io"]}"#, "\"https://gcr.io\" is no registry"),
        (r#"{"blockedImages": ["Ubuntu"]}"#, "\"Ubuntu\" is no image"),
        (r#"{"maxReplicas": 500}"#, "maxReplicas is 500"),
        (r#"{"requireLimits": "sometimes"}"#, "unknown variant `sometimes`"),
    ] {
        let error = serde_json::from_str::<Profile>(json).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn defaults_fill_in_what_was_left_out_and_change_nothing_else() {
    let mut filled = app("nginx:1.29");
    defaults(&mut filled);
    assert_eq!(filled.spec.strategy, Some(Replacing::RollingUpdate));
    assert_eq!(filled.metadata.labels.as_ref().unwrap()[MANAGED_BY], MANAGER);
    assert_eq!(filled.metadata.annotations.as_ref().unwrap()[WEBHOOK_MUTATED], "true");
    let once = filled.clone();
    defaults(&mut filled);
    assert_eq!(filled, once);

    let mut own = app("nginx:1.29");
    own.spec.strategy = Some(Replacing::Recreate);
    own.metadata.labels = Some([(MANAGED_BY.to_owned(), "Helm".to_owned())].into());
    defaults(&mut own);
    assert_eq!(own.spec.strategy, Some(Replacing::Recreate));
    assert_eq!(own.metadata.labels.unwrap()[MANAGED_BY], "Helm");
}

proptest! {
    #[test]
    fn a_normal_form_is_its_own_normal_form(
        text in "((gcr\\.io|localhost:5000|Index\\.Docker\\.io(:443)?|\\[::1\\]:5000)/)?[a-z0-9]{1,5}(/[a-z0-9]{1,5}([._-]|__)[a-z0-9]{1,3}){0,2}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,5})?"
    ) {
        let once: ImageReference = text.parse().unwrap();
        let again: ImageReference = once.to_string().parse().unwrap();
        prop_assert_eq!(once, again);
    }

    #[test]
    fn every_spelling_of_an_official_image_is_the_same_reference(
        name in "[a-z][a-z0-9]{0,8}", tag in "(:[a-z0-9]{1,5})?"
    ) {
        let plain: ImageReference = format!("{name}{tag}").parse().unwrap();
        for prefix in ["library/", "docker.io/", "docker.io/library/", "index.docker.io/", "INDEX.docker.io:443/library/"] {
            let other: ImageReference = format!("{prefix}{name}{tag}").parse().unwrap();
            prop_assert_eq!(&plain, &other);
        }
    }

    #[test]
    fn no_text_brings_the_parser_down(text in "\\PC{0,40}") {
        if let Ok(image) = text.parse::<ImageReference>() {
            prop_assert_eq!(image.to_string().parse::<ImageReference>().unwrap(), image);
        }
    }
}
