//! What the report claims holds for objects nobody chose.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]

use proptest::prelude::*;
use serde_json::Value;
use slipway_crd_compat::admit::{Admission, Validator, Verdict};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::{Outcome, Severity, Witness, Write};
use slipway_crd_compat::generate::{SchemaPair, definition};
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::{TextOptions, junit, markdown, sarif, text};
use slipway_crd_compat::rollback;
use slipway_crd_compat::{compare, compare_sets};

fn crd(value: Value) -> Crd {
    Crd::from_value(value).expect("a definition")
}

/// Whether an admission takes the object and keeps all of it.
fn whole(admission: &Admission, object: &Value) -> bool {
    admission.verdict.is_accepted() && admission.pruned.is_empty() && keeps(object, &admission.object)
}

fn keeps(written: &Value, stored: &Value) -> bool {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => {
            written.iter().all(|(key, value)| stored.get(key).is_some_and(|kept| keeps(value, kept)))
        }
        (Value::Array(written), Value::Array(stored)) => {
            written.len() == stored.len()
                && written.iter().zip(stored).all(|(value, kept)| keeps(value, kept))
        }
        _ => written == stored,
    }
}

fn writes(validator: &Validator, object: &Value) -> [Admission; 2] {
    let mut bare = object.clone();
    if let Value::Object(map) = &mut bare {
        map.remove("status");
    }
    [validator.create(&bare), validator.update_status(object)]
}

fn sound(pair: &SchemaPair) {
    let (old, new) = (crd(pair.old_crd()), crd(pair.new_crd()));
    let (before, after) =
        (Validator::new(&old, "v1").expect("a schema"), Validator::new(&new, "v1").expect("a schema"));
    let report = compare(&old, &new, &Options::default());
    for object in pair.objects(40) {
        let mut bare = object.clone();
        bare.as_object_mut().map(|map| map.remove("status"));
        for (index, (was, is)) in writes(&before, &object).iter().zip(writes(&after, &object)).enumerate() {
            let written = if index == 0 { &bare } else { &object };
            if !whole(was, written) || whole(&is, written) {
                continue;
            }
            // A null that is dropped or filled in is risky; everything else that is lost or refused breaks.
            let null = is.verdict.is_accepted() && is.pruned.is_empty();
            let least = if null { Severity::Risky } else { Severity::Breaking };
            assert!(
                report.severity() >= least,
                "seed {}: the report is {} but the new schema does not take {object:#}\n{:?}\npruned {:?}\nchanges {:?}\nold {}\nnew {}\n{:#?}",
                pair.seed,
                report.severity(),
                is.verdict,
                is.pruned,
                pair.changes,
                pair.old,
                pair.new,
                report.findings.iter().map(|f| (f.severity, f.id, &f.message)).collect::<Vec<_>>(),
            );
        }
    }
}

fn proves(witness: &Witness, before: &Validator, after: &Validator, context: &str) {
    let write = |validator: &Validator| match witness.write {
        Write::Create => validator.create(&witness.object),
        Write::Status => validator.update_status(&witness.object),
    };
    assert!(
        whole(&write(before), &witness.object),
        "{context}: the old schema does not keep {:#}",
        witness.object
    );
    let is = write(after);
    match witness.outcome {
        Outcome::Refused => {
            assert!(matches!(is.verdict, Verdict::Rejected(_)), "{context}: {:#}", witness.object);
        }
        Outcome::Pruned => assert!(!whole(&is, &witness.object), "{context}: {:#}", witness.object),
    }
}

fn witnesses_hold(pair: &SchemaPair) {
    let (old, new) = (crd(pair.old_crd()), crd(pair.new_crd()));
    let (before, after) =
        (Validator::new(&old, "v1").expect("a schema"), Validator::new(&new, "v1").expect("a schema"));
    let report = compare(&old, &new, &Options::default());
    for finding in &report.findings {
        if let Some(witness) = &finding.witness {
            proves(witness, &before, &after, &format!("seed {} {}", pair.seed, finding.message));
        }
    }
}

fn going_back_is_judged_rightly(pair: &SchemaPair) {
    let (old, new) = (crd(pair.old_crd()), crd(pair.new_crd()));
    let report = compare(&old, &new, &Options::default());
    if report.rollback.verdict != rollback::Verdict::Reversible {
        return;
    }
    let (before, after) =
        (Validator::new(&old, "v1").expect("a schema"), Validator::new(&new, "v1").expect("a schema"));
    let reverse = SchemaPair { old: pair.new.clone(), new: pair.old.clone(), ..pair.clone() };
    for object in reverse.objects(30) {
        let [is, _] = writes(&after, &object);
        if !is.verdict.is_accepted() {
            continue;
        }
        // What is stored under the new schema goes back to the old one.
        let back = before.create(&is.object);
        let dropped_null = back.verdict.is_accepted() && back.pruned.is_empty();
        assert!(
            dropped_null || whole(&back, &is.object),
            "seed {}: said to be reversible, but {:#} is not taken back: {:?} {:?}\nold {}\nnew {}",
            pair.seed,
            is.object,
            back.verdict,
            back.pruned,
            pair.old,
            pair.new
        );
    }
}

/// Known seeds, so that a failure is the same everywhere; more are tried at random below.
#[test]
fn nothing_is_called_safe_that_refuses_or_drops_an_object() {
    let seeds: u64 =
        std::env::var("SOUNDNESS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(600);
    for seed in 0..seeds {
        let pair = SchemaPair::from_seed(seed);
        sound(&pair);
        witnesses_hold(&pair);
        going_back_is_judged_rightly(&pair);
    }
}

#[test]
fn most_breaking_findings_are_proven() {
    let (mut shown, mut missing) = (0, Vec::new());
    for seed in 0..600 {
        let pair = SchemaPair::from_seed(seed);
        let report = compare(&crd(pair.old_crd()), &crd(pair.new_crd()), &Options::default());
        for finding in report.findings.iter().filter(|finding| finding.severity == Severity::Breaking) {
            match &finding.witness_missing_reason {
                None => shown += 1,
                Some(reason) => missing.push(format!("seed {seed}: {} ({reason})", finding.message)),
            }
        }
    }
    println!("{shown} proven, {} not:\n{}", missing.len(), missing.join("\n"));
    assert!(missing.len() * 20 < shown, "{shown} proven, {} not:\n{}", missing.len(), missing.join("\n"));
}

/// Anything that can stand where a schema is expected, keywords with values of the wrong type included.
fn anything() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "type",
        "format",
        "nullable",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "enum",
        "default",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "pattern",
        "uniqueItems",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "description",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
        "rule",
        "spec",
        "x-other",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "object", "array", "string", "integer", "number", "boolean", "map", "set", "^(a", "^a+$",
            "self.a", "int32", "date", "a"
        ])
        .prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|entries| Value::Object(
                entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_written_in_a_schema_makes_it_panic(old in anything(), new in anything()) {
        let wrap = |spec: Value| definition(&serde_json::json!({"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}));
        if let (Ok(old), Ok(new)) = (Crd::from_value(wrap(old)), Crd::from_value(wrap(new))) {
            let report = compare_sets(&[old], &[new], &Options::default());
            for all in [false, true] {
                let page = text(&report, TextOptions { all, color: all });
                prop_assert!(!page.is_empty());
            }
            prop_assert!(!markdown(&report).is_empty() && !junit(&report).is_empty() && !sarif(&report, None).is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_seed_makes_the_report_unsound(seed: u64) {
        let pair = SchemaPair::from_seed(seed);
        sound(&pair);
        witnesses_hold(&pair);
    }
}
