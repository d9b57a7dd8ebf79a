//! The program as a person starts it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::process::{Command, Output};

fn slipway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slipway")).args(arguments).output().unwrap()
}

#[test]
fn it_tells_its_version() {
    let output = slipway(&["--version"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("slipway {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_says_what_it_is_for() {
    let output = slipway(&["--help"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Roll Kubernetes operators out across a fleet of clusters, safely"), "{text}");
}

#[test]
fn an_unknown_option_is_refused_with_exit_code_2() {
    let output = slipway(&["--frobnicate"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--frobnicate"));
}
