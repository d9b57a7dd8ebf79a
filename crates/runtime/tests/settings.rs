//! Flags, environment and file together, as an operator would use them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use serde::Deserialize;
use slipway_runtime::settings::{
    Certificates, Flags, InstallCrds, Loaded, LogFormat, Settings, SettingsError, Watcher,
};
use slipway_testkit::{scratch, until};

/// Runs Applications.
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    settings: Flags,
    #[arg(long)]
    own: Option<String>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Policy {
    allowed_registries: Vec<String>,
    limits: BTreeMap<String, u32>,
    mode: Mode,
    nested: Nested,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Mode {
    #[default]
    Strict,
    Lenient,
    Custom {
        score: u32,
    },
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Nested {
    max_replicas: u32,
}

fn load(
    arguments: &[&str],
    environment: &[(&str, &str)],
    file: Option<&str>,
) -> Result<Loaded<Policy>, SettingsError> {
    let place = scratch("settings").unwrap();
    let path = place.path().join("operator.yaml");
    let mut arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    if let Some(text) = file {
        fs::write(&path, text).unwrap();
        arguments.extend(["--config".to_owned(), path.display().to_string()]);
    }
    let cli = Cli::try_parse_from(["operator".to_owned()].into_iter().chain(arguments)).unwrap();
    let lookup = |name: &str| {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Settings::load(&cli.settings, Some("policy"), &lookup)
}

/// The error without the directory, which differs from run to run.
fn refused(file: &str) -> String {
    let error = load(&[], &[], Some(file)).unwrap_err().to_string();
    let (before, rest) = error.split_once('/').expect("a path");
    let (path, rest) = rest.split_once("operator.yaml").expect("a file");
    assert!(Path::new(path).components().count() > 0);
    format!("{before}operator.yaml{rest}")
}

#[test]
fn without_anything_there_are_defaults() {
    let Loaded { settings, extra, .. } = load(&[], &[], None).unwrap();
    assert_eq!(settings.admin_address.to_string(), "0.0.0.0:3000");
    assert_eq!(settings.webhook_address.to_string(), "0.0.0.0:9443");
    assert!(settings.leader_election && settings.webhooks);
    assert!(!settings.standby && !settings.serve_events);
    assert_eq!(settings.log_level, "info");
    assert_eq!(settings.log_format, None);
    assert!(settings.watch_namespaces.is_empty());
    assert_eq!(settings.drain, Duration::from_secs(20));
    assert_eq!(settings.certificates, Certificates::SelfSigned);
    assert_eq!(settings.install_crds, InstallCrds::Never);
    assert_eq!(*extra, Policy::default());
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file = "logLevel: warn\ndrain: 5s\nresync: 10m\nwatchNamespaces: [a, b]\nleaderElection: false\n\
                policy:\n  allowedRegistries: [gcr.io]\n  limits: {cpu: 4}\n  mode: lenient\n";
    let environment = [
        ("LOG_LEVEL", "debug"),
        ("DRAIN", "6s"),
        ("POD_NAME", "web-0"),
        ("LEASE_NAME", ""),
        ("ENABLE_WEBHOOKS", "off"),
    ];
    let loaded =
        load(&["--log-level", "error", "--standby", "--group", "green"], &environment, Some(file)).unwrap();
    let settings = &loaded.settings;
    assert_eq!(settings.log_level, "error", "the flag");
    assert_eq!(settings.drain, Duration::from_secs(6), "the environment");
    assert_eq!(settings.resync, Some(Duration::from_mins(10)), "the file");
    assert_eq!(settings.watch_namespaces, ["a", "b"]);
    assert!(!settings.leader_election && !settings.webhooks && settings.standby);
    assert_eq!(settings.lease_name, None, "an empty variable says nothing");
    assert_eq!(settings.pod_name.as_deref(), Some("web-0"));
    assert_eq!(loaded.extra.allowed_registries, ["gcr.io"]);
    assert_eq!(loaded.extra.limits["cpu"], 4);
    assert_eq!(loaded.extra.mode, Mode::Lenient);
}

#[test]
fn switches_can_be_given_and_taken_back() {
    let cli =
        Cli::try_parse_from(["operator", "--leader-election=false", "--serve-events", "--own", "x"]).unwrap();
    assert_eq!(cli.own.as_deref(), Some("x"));
    let loaded: Loaded<Policy> = Settings::load(&cli.settings, None, &|_| None).unwrap();
    assert!(!loaded.settings.leader_election);
    assert!(loaded.settings.serve_events);
}

#[test]
fn the_help_is_the_operators_own() {
    let command = Cli::command();
    assert_eq!(command.get_about().unwrap().to_string(), "Runs Applications");
    let error = Cli::try_parse_from(["operator", "--admin-address", "3000"]).unwrap_err().to_string();
    let expected = "invalid value '3000' for '--admin-address <ADDRESS>': expected an address with a port, such as \
                    0.0.0.0:3000";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn the_old_variable_names_a_port_only() {
    let address = |environment: &[(&str, &str)], file: Option<&str>| {
        load(&[], environment, file).unwrap().settings.admin_address.to_string()
    };
    assert_eq!(address(&[("PORT", "8081")], Some("adminAddress: 127.0.0.1:1\n")), "0.0.0.0:8081");
    assert_eq!(address(&[("PORT", "8081"), ("ADMIN_ADDRESS", "127.0.0.1:9")], None), "127.0.0.1:9");
    let error = load(&[], &[("PORT", "tcp://10.0.0.1:80")], None).unwrap_err();
    assert_eq!(error.to_string(), "the environment variable PORT=\"tcp://10.0.0.1:80\": expected a port");
}

#[test]
fn unknown_keys_stop_the_start_with_their_place_and_what_was_meant() {
    assert_eq!(
        refused("adminAdress: 127.0.0.1:1\nlogLevel: info\n\nfrobnicate: 1\npolcy: {}\n"),
        "the configuration file operator.yaml, line 1: unknown key adminAdress (did you mean adminAddress?); \
         line 4: unknown key frobnicate; line 5: unknown key polcy (did you mean policy?)"
    );
    assert_eq!(
        refused("policy:\n  allowedRegistrys:\n  - gcr.io\n  nested:\n    maxReplica: 3\n"),
        "the configuration file operator.yaml, line 2: unknown key policy.allowedRegistrys (did you mean \
         allowedRegistries?); line 5: unknown key policy.nested.maxReplica (did you mean maxReplicas?)"
    );
}

#[test]
fn wrong_values_stop_the_start_with_their_place_and_what_is_expected() {
    for (file, expected) in [
        ("\napiQps: fast\n", "line 2: apiQps: expected a number, found \"fast\""),
        ("drain: 10\n", "line 1: drain: expected a time such as 30s, 10m or 1h30m, found 10"),
        ("drain: soon\n", "line 1: drain: expected a time such as 30s, 10m or 1h30m, found \"soon\""),
        ("webhooks: sometimes\n", "line 1: webhooks: expected true or false, found \"sometimes\""),
        ("logFormat: xml\n", "line 1: logFormat: expected one of json, pretty, found \"xml\""),
        (
            "adminAddress: 3000\n",
            "line 1: adminAddress: expected an address with a port, such as 0.0.0.0:3000, found 3000",
        ),
        ("concurrency: -1\n", "line 1: concurrency: expected a whole number that is not negative, found -1"),
        (
            "policy:\n  allowedRegistries:\n  - gcr.io\n  - 7\n",
            "line 4: policy.allowedRegistries[1]: expected text, found 7",
        ),
        (
            "policy:\n  limits:\n    cpu: many\n",
            "line 3: policy.limits.cpu: expected a whole number that is not negative, found \"many\"",
        ),
        (
            "policy:\n  mode: loose\n",
            "line 2: policy.mode: expected one of strict, lenient, custom, found \"loose\"",
        ),
        (
            "policy:\n  mode:\n    custom:\n      score: x\n",
            "line 4: policy.mode.custom.score: expected a whole number that is not negative, found \"x\"",
        ),
        ("policy: 3\n", "line 1: policy: expected keys with values, found 3"),
    ] {
        assert_eq!(refused(file), format!("the configuration file operator.yaml, {expected}"), "{file}");
    }
}

#[test]
fn a_file_that_is_no_yaml_is_refused_with_its_line() {
    let error = refused("logLevel: info\npolicy: [a\n");
    assert!(error.starts_with("the configuration file operator.yaml, line "), "{error}");
    assert!(error.contains("this cannot be read: "), "{error}");
    for (file, expected) in [
        ("logLevel: info\nlogLevel: debug\n", "line 2: this cannot be read: duplicate mapping key: logLevel"),
        ("a: b: c\n", "line 1: this cannot be read: mapping values are not allowed in this context"),
        ("logLevel: info\n---\ndrain: 1s\n", "line 3: this cannot be read: multiple YAML documents detected"),
    ] {
        assert_eq!(refused(file), format!("the configuration file operator.yaml, {expected}"));
    }
    assert_eq!(
        refused("- a\n"),
        "the configuration file operator.yaml, line 1: this cannot be read: expected keys with values, such as \
         `logLevel: debug`"
    );
    assert!(load(&[], &[], Some("# nothing yet\n")).is_ok());
    assert!(load(&[], &[], Some("")).is_ok());
    assert!(load(&[], &[], Some("policy:\n")).is_ok());
}

#[test]
fn a_missing_file_is_named() {
    let error = load(&["--config", "/nowhere/operator.yaml"], &[], None).unwrap_err();
    assert_eq!(error.to_string(), "reading the configuration file /nowhere/operator.yaml");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("No such file"));
}

#[test]
fn values_that_cannot_work_are_refused_wherever_they_come_from() {
    let reason = |arguments: &[&str], environment: &[(&str, &str)]| {
        load(arguments, environment, None).unwrap_err().to_string()
    };
    assert_eq!(
        reason(&["--standby"], &[]),
        "--standby: a standby leads when its group is preferred, so --group is needed"
    );
    assert_eq!(reason(&["--api-qps", "0"], &[]), "--api-qps: 0 is not above zero");
    assert_eq!(reason(&["--concurrency", "0"], &[]), "--concurrency: 0 would reconcile nothing");
    assert!(
        reason(&[], &[("LOG_LEVEL", "loud")])
            .starts_with("--log-level: the log filter \"loud\" cannot be used")
    );
    assert_eq!(
        reason(&[], &[("LOG_FORMAT", "xml")]),
        "the environment variable LOG_FORMAT=\"xml\": expected one of json, pretty"
    );
    assert_eq!(
        reason(&[], &[("ENABLE_LEADER_ELECTION", "maybe")]),
        "the environment variable ENABLE_LEADER_ELECTION=\"maybe\": expected true or false"
    );
}

#[tokio::test]
async fn a_changed_file_is_followed_through_the_link_of_a_config_map() {
    let place = scratch("settings").unwrap();
    let (first, second) = (place.path().join("first.yaml"), place.path().join("second.yaml"));
    fs::write(&first, "logLevel: info\n").unwrap();
    fs::write(&second, "logLevel: debug\nlogFormat: json\npolicy: {allowedRegistries: [docker.io]}\n")
        .unwrap();
    let (link, next) = (place.path().join("operator.yaml"), place.path().join("next.yaml"));
    std::os::unix::fs::symlink(&first, &link).unwrap();
    let flags = Flags { config: Some(link.clone()), ..Flags::default() };
    let loaded: Loaded<Policy> = Settings::load(&flags, Some("policy"), &|_| None).unwrap();
    assert_eq!(loaded.settings.log_format, None::<LogFormat>);
    let watcher = Watcher::start(loaded);
    let mut live = watcher.live();
    assert_eq!(live.borrow_and_update().log_level, "info");
    std::os::unix::fs::symlink(&second, &next).unwrap();
    fs::rename(&next, &link).unwrap();
    until("the new file", Duration::from_secs(30), || {
        let now = live.borrow().clone();
        async move { (now.log_level == "debug" && now.extra.allowed_registries == ["docker.io"]).then_some(()) }
    })
    .await
    .unwrap();
}
