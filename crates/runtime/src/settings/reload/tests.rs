use std::path::PathBuf;

use serde::Deserialize;

use super::*;
use crate::settings::{Flags, Settings};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Policy {
    registries: Vec<String>,
}

fn following(flags: &Flags) -> Following {
    let loaded: Loaded<Policy> = Settings::load(flags, Some("policy"), &|_| None).unwrap();
    let mut following = Following::new(loaded);
    following.given.fixed.config = Some(PathBuf::from("operator.yaml"));
    following
}

fn look(following: &mut Following, text: &str) -> Result<Option<Changed<Policy>>, SettingsError> {
    following.look(text.to_owned())
}

#[test]
fn what_may_change_is_taken_over_and_the_rest_is_named() {
    let mut following = following(&Flags::default());
    let text = "logLevel: debug\napiQps: 5\nadminAddress: 127.0.0.1:1\npolicy:\n  registries: [gcr.io]\n";
    let changed = look(&mut following, text).unwrap().unwrap();
    assert_eq!(changed.live.log_level, "debug");
    assert!((changed.live.api_qps - 5.0).abs() < 1e-9);
    assert_eq!(changed.live.api_burst, 400);
    assert_eq!(changed.live.extra.registries, ["gcr.io"]);
    assert_eq!(changed.restart, ["adminAddress"]);
    assert!(look(&mut following, text).unwrap().is_none(), "the same text changes nothing");
}

#[test]
fn a_bad_file_is_refused_once_and_the_next_good_one_counts() {
    let mut following = following(&Flags::default());
    assert!(look(&mut following, "logLevel: loud\n").is_err());
    assert!(look(&mut following, "logLevel: loud\n").unwrap().is_none());
    assert!(look(&mut following, "unknown: 1\n").is_err());
    assert_eq!(look(&mut following, "logLevel: warn\n").unwrap().unwrap().live.log_level, "warn");
}

#[test]
fn a_flag_is_not_overruled_by_the_file() {
    let flags = Flags {
        log_level: Some("error".to_owned()),
        lease_name: Some("mine".to_owned()),
        ..Flags::default()
    };
    let mut following = following(&flags);
    let changed = look(&mut following, "logLevel: debug\nleaseName: other\n").unwrap().unwrap();
    assert_eq!(changed.live.log_level, "error");
    assert!(changed.restart.is_empty());
}
