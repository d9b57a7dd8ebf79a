//! The corpus beside the repository, where present: its verdicts are met.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;

fn corpus(part: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(part);
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn load(path: &Path) -> Crd {
    let text = fs::read_to_string(path).expect("a readable file");
    let value: Value = serde_saphyr::from_str(&text).expect("YAML");
    Crd::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sorted(path: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    entries
}

#[test]
fn every_case_gets_the_verdict_it_is_held_to_deserve() {
    let Some(cases) = corpus("crd") else { return };
    let mut wrong = Vec::new();
    for case in sorted(&cases) {
        let expect = fs::read_to_string(case.join("expect.json")).expect("an expectation");
        let expect: Value = serde_json::from_str(&expect).expect("JSON");
        let report =
            compare(&load(&case.join("old.yaml")), &load(&case.join("new.yaml")), &Options::default());
        let found: Vec<_> = report.findings.iter().map(|f| (f.severity, f.id, f.path.as_str())).collect();
        let breaking = report.severity() == Severity::Breaking;
        if expect["breaking"].as_bool() != Some(breaking) {
            wrong.push(format!("{}: breaking is {breaking}: {found:?}", case.display()));
        }
        if let Some(severity) = expect["atLeastOne"].as_str()
            && !report.findings.iter().any(|finding| finding.severity.as_str() == severity)
        {
            wrong.push(format!("{}: nothing is {severity}: {found:?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn real_histories_are_compared_without_a_breaking_claim_left_unexplained() {
    let Some(histories) = corpus("crd-history") else { return };
    for project in sorted(&histories) {
        let versions = sorted(&project);
        for pair in versions.windows(2) {
            let news: Vec<Crd> = sorted(&pair[1]).iter().map(|path| load(path)).collect();
            for old in sorted(&pair[0]).iter().map(|path| load(path)) {
                let Some(new) = news.iter().find(|new| new.name() == old.name()) else { continue };
                let report = compare(&old, new, &Options::default());
                for finding in report.findings.iter().filter(|finding| finding.severity == Severity::Breaking)
                {
                    let about_objects = !finding.path.starts_with("crd");
                    assert!(
                        !about_objects
                            || finding.witness.is_some()
                            || finding.witness_missing_reason.is_some(),
                        "{}: {finding:?}",
                        old.name()
                    );
                }
            }
        }
    }
}
