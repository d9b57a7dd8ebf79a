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
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("listen"), format!("127.0.0.1:7000 {}", file.display()));
    assert_eq!(row("log.filter"), "debug SLIPWAY_LOG_FILTER");
    assert_eq!(row("database.url"), "(hidden) --database-url");
    assert_eq!(row("log.format"), "json default");
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
