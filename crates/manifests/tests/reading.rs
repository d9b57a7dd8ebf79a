//! What reading promises, to friends and to foes.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use slipway_manifests::{Limits, read, read_with};

fn one(text: &str) -> Value {
    let mut documents = read(text).unwrap();
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0).value
}

fn fails(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn several_documents_are_read_with_their_lines_and_empty_ones_left_out() {
    let documents = read("---\na: 1\n---\n# nothing\n---\nb: 2\n...\n").unwrap();
    let seen: Vec<_> = documents.iter().map(|document| (document.number, document.line)).collect();
    assert_eq!(seen, [(1, 1), (3, 5)]);
    assert_eq!(documents[1].value, json!({"b": 2}));
    assert!(read("").unwrap().is_empty());
}

#[test]
fn json_is_read_too() {
    assert_eq!(
        one("{\"a\": [1, true, null, \"x\"], \"b\": {}}"),
        json!({"a": [1, true, null, "x"], "b": {}})
    );
    assert_eq!(one("\u{feff}{\"a\": 1}"), json!({"a": 1}));
}

#[test]
fn block_scalars_quotes_tags_and_keys_mean_what_they_do_to_kubectl() {
    let text = "folded: >-\n  one\n  two\nliteral: |\n  a\n  b\nquoted: \"on\"\nforced: !!str 5\n1: one\ntrue: two\n";
    assert_eq!(
        one(text),
        json!({"folded": "one two", "literal": "a\nb\n", "quoted": "on", "forced": "5", "1": "one", "true": "two"})
    );
}

#[test]
fn aliases_and_merges_are_followed() {
    let text = "base: &base {a: 1, b: 2}\nlist: [*base]\nown: {<<: *base, b: 3}\nmany: {<<: [{c: 1}, {c: 2, d: 4}]}\n";
    let value = one(text);
    assert_eq!(value["list"], json!([{"a": 1, "b": 2}]));
    assert_eq!(value["own"], json!({"a": 1, "b": 3}));
    assert_eq!(value["many"], json!({"c": 1, "d": 4}));
}

#[test]
fn an_error_names_the_line_and_the_document() {
    assert_eq!(fails("a: 1\n---\nb: 2\nc: 3\nb: 4\n"), "line 5, document 2: the key \"b\" is there twice");
    assert_eq!(fails("a: .inf\n"), "line 1, document 1: .inf is a number that JSON cannot hold");
    assert_eq!(fails("? [a]\n: b\n"), "line 1, document 1: a list cannot be a key");
    assert_eq!(fails("~: b\n"), "line 1, document 1: a key is empty");
    assert_eq!(fails("a: &x 1\n*x : b\n"), "line 2, document 1: an alias cannot be a key");
    assert_eq!(fails("a: {<<: 5}\n"), "line 1, document 1: what is merged with << is not a map");
    assert_eq!(fails("a: &x [*x]\n"), "line 1, document 1: an alias refers to a value that is not complete");
    let half = fails("{\"a\":\n [1, 2");
    assert!(half.starts_with("line 2, document 1: this is not YAML: "), "{half}");
    let tab = fails("a:\n\tb: 1\n");
    assert!(tab.starts_with("line 2, document 1: this is not YAML: "), "{tab}");
}

#[test]
fn an_alias_bomb_ends_with_an_error_instead_of_the_memory() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", vec![below; 10].join(", "));
    }
    assert!(fails(&bomb).ends_with("the text holds more than 4000000 values, aliases counted each time"));
}

#[test]
fn ten_thousand_levels_end_with_an_error_instead_of_the_stack() {
    let flow = fails(&"[".repeat(10_000));
    assert!(flow.starts_with("line 1, document 1: "), "{flow}");
    let block = (0..10_000).map(|level| " ".repeat(level) + "a:\n").collect::<String>();
    assert_eq!(fails(&block), "line 257, document 1: values are nested more than 256 deep");
    let lists = format!("a: {}b\n", "- ".repeat(10_000));
    assert!(read(&lists).is_err());
}

#[test]
fn a_text_or_document_that_is_too_large_is_refused() {
    let large = format!("a: {}\n", "x".repeat(20 << 20));
    assert!(
        fails(&large)
            .ends_with("the document is larger than 8 MiB, and no API server takes an object of that size")
    );
    let limits = Limits { bytes: 10, ..Limits::default() };
    let error = read_with("a: 1\nb: 2\nc: 3\n", &limits).unwrap_err();
    assert_eq!(error.reason, "the text has 1 KiB, more than the 1 KiB that are read");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\u{0}]{1,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().filter(|(key, _)| key != "<<").collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_json_says_is_read_as_json_says_it(value in any_json()) {
        prop_assume!(!value.is_null());
        prop_assert_eq!(one(&serde_json::to_string_pretty(&value).unwrap()), value);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ \\[\\]{}:,&*!|>'\"%@`#?a-c0-9.~\n\t-]{0,200}") {
        let _ = read(&text);
    }
}
