//! What is set, and what is said about it.

use std::fs;

use crate::program::{folder, slipway};

#[test]
fn each_setting_is_shown_with_where_it_came_from() {
    let folder = folder();
    let file = folder.path().join("slipway.yaml");
    fs::write(&file, "listen: 127.0.0.1:7000\nlog: {filter: warn}\n").unwrap();
    let output = slipway(&["config", "check", "--config"])
        .arg(&file)
        .arg("--database-url=postgres://ada:s3cret@db/slipway")
        .env("SLIPWAY_LOG_FILTER", "debug")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |setting: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(setting)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).collect::<Vec<_>>()
    };
    let written = file.display().to_string();
    assert_eq!(row("listen"), ["127.0.0.1:7000", &written, "Listen on this address and port"]);
    assert_eq!(row("log.filter")[..2], ["debug", "SLIPWAY_LOG_FILTER"]);
    assert_eq!(row("database.url")[..2], ["(hidden)", "--database-url"]);
    assert_eq!(row("log.format")[..2], ["json", "default"]);
    assert!(!text.contains("s3cret"));
}

#[test]
fn what_is_no_setting_stops_the_server_before_it_starts() {
    let folder = folder();
    let file = folder.path().join("slipway.yaml");
    fs::write(&file, "lisen: 127.0.0.1:7000\n").unwrap();
    for command in [["serve", "--config"].as_slice(), ["config", "check", "--config"].as_slice()] {
        let output = slipway(command).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "error: the settings cannot be used: lisen ({}) is no setting; is listen meant?\n",
            file.display()
        );
        assert_eq!(said, expected);
    }
}

#[test]
fn other_machines_are_served_encrypted_or_on_purpose() {
    let open = ["config", "check", "--listen=0.0.0.0:5000"];
    let output = slipway(&open).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("tokens would be sent in the clear"), "{said}");
    assert!(slipway(&open).arg("--insecure-http=true").status().unwrap().success());
    assert!(slipway(&["config", "check", "--listen=[::1]:5000"]).status().unwrap().success());
}
