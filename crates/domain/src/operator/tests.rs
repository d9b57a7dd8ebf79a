use serde_json::json;

use super::*;
use crate::operator::Asked;

fn asked() -> Asked {
    Asked {
        name: "cert-manager".to_owned(),
        namespace: "cert-manager".to_owned(),
        chart_repository: "https://charts.example.com/".to_owned(),
        chart_name: "cert-manager".to_owned(),
        current_version: Some("v1.13.0".to_owned()),
        ..Asked::default()
    }
}

fn operator(name: &str, namespace: &str, chart: &str) -> Operator {
    let asked = Asked {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        chart_name: chart.to_owned(),
        ..asked()
    };
    let registration = Registration::parse(asked).unwrap();
    Operator {
        id: OperatorId(uuid::Uuid::from_u128(name.bytes().fold(7, |sum, byte| sum * 31 + u128::from(byte)))),
        name: registration.name,
        description: None,
        namespace: registration.namespace,
        chart: registration.chart,
        current_version: registration.current_version,
        latest_version: None,
        crd_names: Vec::new(),
        labels: BTreeMap::new(),
        default_values: Map::new(),
        profile: None,
        has_credentials: false,
        authority: None,
        deployed_clusters: 0,
        checked_at: None,
        check_error: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        revision: 1,
    }
}

fn offered(version: &str) -> ChartVersion {
    ChartVersion {
        version: version.parse().unwrap(),
        app_version: None,
        released_at: None,
        deprecated: false,
        changelog_url: None,
        digest: None,
    }
}

#[test]
fn everything_that_is_wrong_with_a_registration_is_said_at_once() {
    let problems = Registration::parse(Asked {
        name: "Cert Manager".to_owned(),
        namespace: String::new(),
        chart_repository: "charts.example.com".to_owned(),
        chart_name: "../x".to_owned(),
        current_version: Some("latest".to_owned()),
        crd_names: vec!["widgets".to_owned(), "a.b".to_owned(), "a.b".to_owned()],
        labels: [("team".to_owned(), "not a value".to_owned())].into(),
        profile: Some(json!({"handover": "warm"})),
        ..Asked::default()
    })
    .unwrap_err();
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "name",
            "namespace",
            "chartRepository",
            "chartName",
            "currentVersion",
            "crdNames[0]",
            "crdNames[2]",
            "labels.team",
            "profile.handover"
        ]
    );
}

#[test]
fn a_repository_is_an_address_without_secrets() {
    let good: Repository = "https://charts.example.com/stable/".parse().unwrap();
    assert_eq!(
        (good.as_str(), good.host().as_str()),
        ("https://charts.example.com/stable", "charts.example.com")
    );
    assert_eq!(good.kind(), RepositoryKind::Http);
    let registry: Repository = "oci://127.0.0.1:5000/charts".parse().unwrap();
    assert_eq!((registry.kind(), registry.host().as_str()), (RepositoryKind::Oci, "127.0.0.1:5000"));
    assert!(registry.is_loopback());
    for (bad, why) in [
        ("charts.example.com", BadRepository::NotAbsolute),
        ("/charts", BadRepository::NotAbsolute),
        ("ftp://charts.example.com", BadRepository::Scheme),
        ("file:///etc", BadRepository::Scheme),
        ("https://me:secret@charts.example.com", BadRepository::Credentials),
        ("https://charts.example.com?token=x", BadRepository::Query),
        ("oci:charts", BadRepository::NotAbsolute),
    ] {
        assert_eq!(bad.parse::<Repository>(), Err(why), "{bad}");
    }
    assert!("http://charts.example.com".parse::<Repository>().unwrap().is_in_the_clear());
    assert!(!"http://localhost:8080".parse::<Repository>().unwrap().is_in_the_clear());
}

#[test]
fn an_update_is_a_version_that_is_newer_not_one_that_is_written_otherwise() {
    let mut operator = operator("cert-manager", "cert-manager", "cert-manager");
    for (current, latest, update) in [
        ("v1.9.0", "v1.10.0", true),
        ("v1.10.0", "v1.9.0", false),
        ("v1.9.0", "1.9.0", false),
        ("1.9.0-rc.1", "1.9.0", true),
    ] {
        operator.current_version = current.parse().ok();
        operator.latest_version = latest.parse().ok();
        assert_eq!(operator.has_update(), update, "{current} {latest}");
    }
    operator.current_version = None;
    assert!(!operator.has_update());
}

#[test]
fn the_newest_stable_version_is_neither_a_pre_release_nor_given_up() {
    let mut versions = vec![offered("1.9.0"), offered("1.11.0-rc.1"), offered("1.10.0"), offered("1.10.1")];
    versions[3].deprecated = true;
    let latest = newest_stable(&versions).unwrap().version.clone();
    assert_eq!(latest.as_str(), "1.10.0");
    let standing: Vec<Standing> = versions.iter().map(|version| version.standing(Some(&latest))).collect();
    assert_eq!(standing, [Standing::Stable, Standing::PreRelease, Standing::Latest, Standing::Deprecated]);
    sort_newest_first(&mut versions);
    let order: Vec<&str> = versions.iter().map(|version| version.version.as_str()).collect();
    assert_eq!(order, ["1.11.0-rc.1", "1.10.1", "1.10.0", "1.9.0"]);
    assert!(newest_stable(&[offered("1.0.0-alpha")]).is_none());
}

#[test]
fn a_release_belongs_to_the_operator_with_its_chart_and_namespace() {
    let both = [operator("east", "east", "kafka"), operator("west", "west", "kafka")];
    assert_eq!(match_operator(&both, "kafka", "west"), Some(both[1].id));
    assert_eq!(match_operator(&both, "kafka", "north"), None, "either could be meant");
    assert_eq!(match_operator(&both[..1], "kafka", "north"), Some(both[0].id));
    assert_eq!(match_operator(&both, "redis", "west"), None);
}

#[test]
fn what_was_adopted_stays_so_until_another_tool_takes_over() {
    assert_eq!(Manager::after(None, Manager::Helm), Manager::Helm);
    assert_eq!(Manager::after(Some(Manager::Slipway), Manager::Helm), Manager::Slipway);
    assert_eq!(Manager::after(Some(Manager::Slipway), Manager::ArgoCd), Manager::ArgoCd);
    assert_eq!(Manager::after(Some(Manager::Flux), Manager::Helm), Manager::Helm);
    for manager in Manager::ALL {
        assert_eq!(manager.word().parse(), Ok(manager));
    }
}

#[test]
fn a_change_is_taken_whole_or_not_at_all() {
    let mut changed = operator("cert-manager", "cert-manager", "cert-manager");
    let before = changed.clone();
    let change = OperatorChange {
        description: Some("x".repeat(2001)),
        current_version: Some("newest".to_owned()),
        labels: Some([("team".to_owned(), "core".to_owned())].into()),
        ..OperatorChange::default()
    };
    let problems = change.apply(&mut changed).unwrap_err();
    assert_eq!(problems.iter().count(), 2);
    assert_eq!(changed, before);
    let change = OperatorChange {
        description: Some(String::new()),
        profile: Some(json!({"handover": "cold"})),
        ..OperatorChange::default()
    };
    change.apply(&mut changed).unwrap();
    assert!(changed.profile.is_some() && changed.description.is_none());
    OperatorChange { profile: Some(Value::Null), ..OperatorChange::default() }.apply(&mut changed).unwrap();
    assert!(changed.profile.is_none());
}
