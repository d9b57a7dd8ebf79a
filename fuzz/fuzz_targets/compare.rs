//! Any two documents are compared, or refused with a reason.
//!
//! Input that is no pair of definitions is taken as a pair of schemas, so that most of it gets far.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::{self, TextOptions};
use slipway_crd_compat::{compare_sets, generate};

fn definition(value: &Value) -> Option<Crd> {
    Crd::from_value(value.clone()).or_else(|_| Crd::from_value(generate::definition(value))).ok()
}

fuzz_target!(|text: &str| {
    let Ok(documents) = slipway_manifests::read(text) else { return };
    let [old, new, ..] = documents.as_slice() else { return };
    let (Some(old), Some(new)) = (definition(&old.value), definition(&new.value)) else { return };
    let report = compare_sets(&[old], &[new], &Options::default());
    let _ = report::text(&report, TextOptions { color: true, all: true });
    let _ = report::markdown(&report);
    let _ = report::junit(&report);
    let _ = report::sarif(&report, Some("new.yaml"));
    let json: Value = serde_json::from_str(&report::json(&report)).expect("a report is JSON");
    assert_eq!(json["crds"].as_array().map(Vec::len), Some(report.crds.len()));
});
