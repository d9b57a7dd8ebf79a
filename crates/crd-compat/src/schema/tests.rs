use serde_json::{Value, json};

use super::{AdditionalProperties, ListType, MAX_DEPTH, MapType, Pattern, Schema, SchemaType};

#[test]
fn every_keyword_is_typed() {
    let written: Value = serde_json::from_str(
        r#"{
        "type": "array", "format": "int32", "nullable": true, "title": "t", "description": "d",
        "required": ["a"], "items": {"type": "string"}, "additionalProperties": {"type": "number"},
        "properties": {"b": {"type": "integer"}, "a": {"type": "boolean"}},
        "enum": [1, null], "default": 3, "minimum": 1, "exclusiveMinimum": true, "maximum": 2.5,
        "exclusiveMaximum": true, "multipleOf": 0.5, "minLength": 1, "maxLength": 2, "minItems": 3,
        "maxItems": 4, "minProperties": 5, "maxProperties": 6, "pattern": "^a$", "uniqueItems": true,
        "allOf": [{}], "anyOf": [{}, {}], "oneOf": [{}], "not": {"type": "object"},
        "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true,
        "x-kubernetes-int-or-string": true, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-map-type": "atomic",
        "x-kubernetes-validations": [{"rule": "true", "message": "m", "messageExpression": "'e'",
            "reason": "FieldValueInvalid", "fieldPath": ".a", "optionalOldSelf": true, "later": 1}],
        "x-new": 7, "example": null
    }"#,
    )
    .unwrap();
    let schema = Schema::parse(&written).unwrap();
    assert_eq!(schema.type_.map(SchemaType::as_str), Some("array"));
    assert_eq!(schema.properties.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert!(schema.properties.contains_key("b") && !schema.properties.contains_key("c"));
    assert_eq!((schema.properties.len(), schema.properties.is_empty()), (2, false));
    assert_eq!(schema.properties.iter().next_back().unwrap().1.type_, Some(SchemaType::Integer));
    assert_eq!(schema.value_schema().unwrap().type_, Some(SchemaType::Number));
    assert_eq!((schema.minimum, schema.maximum, schema.multiple_of), (Some(1.0), Some(2.5), Some(0.5)));
    assert_eq!((schema.min_length, schema.max_properties), (Some(1), Some(6)));
    assert_eq!(schema.list_type.map(ListType::as_str), Some("map"));
    assert_eq!(schema.map_type.map(MapType::as_str), Some("atomic"));
    assert_eq!(schema.validations[0].field_path.as_deref(), Some(".a"));
    assert!(schema.validations[0].optional_old_self);
    assert_eq!(schema.extra.keys().collect::<Vec<_>>(), ["x-new"]);
}

#[test]
fn a_map_may_allow_everything() {
    let schema = Schema::parse(&json!({"additionalProperties": true})).unwrap();
    assert_eq!(schema.additional_properties, Some(AdditionalProperties::Allowed(true)));
    assert_eq!(schema.value_schema(), None);
}

#[test]
fn an_empty_word_is_no_word() {
    let schema = Schema::parse(&json!({"type": "", "x-kubernetes-list-type": null})).unwrap();
    assert_eq!(schema, Schema::default());
}

#[test]
fn words_are_written_as_they_are_read() {
    for word in ["array", "boolean", "integer", "number", "object", "string"] {
        assert_eq!(SchemaType::from_word(word).unwrap().as_str(), word);
    }
    for word in ["atomic", "set", "map"] {
        assert_eq!(ListType::from_word(word).unwrap().as_str(), word);
    }
    for word in ["atomic", "granular"] {
        assert_eq!(MapType::from_word(word).unwrap().as_str(), word);
    }
}

#[test]
fn a_wrong_type_is_named_with_its_path() {
    for (schema, says) in [
        (json!(3), ".: must be an object, not a number"),
        (json!({"type": ["string"]}), "type: must be a string, not an array"),
        (json!({"type": "text"}), "type: \"text\" is not supported by the API server"),
        (
            json!({"properties": {"spec": {"minLength": "3"}}}),
            "properties.spec.minLength: must be an integer, not a string",
        ),
        (
            json!({"properties": {"spec": {"minLength": 1.5}}}),
            "properties.spec.minLength: must be an integer, not 1.5",
        ),
        (json!({"properties": []}), "properties: must be an object, not an array"),
        (json!({"items": [{}]}), "items: must be a schema; the API server does not accept a list of them"),
        (json!({"items": {"items": 3}}), "items.items: must be an object, not a number"),
        (
            json!({"additionalProperties": "x"}),
            "additionalProperties: must be a boolean or a schema, not a string",
        ),
        (json!({"anyOf": [{}, {"nullable": 1}]}), "anyOf[1].nullable: must be a boolean, not a number"),
        (json!({"required": [null]}), "required[0]: must be a string, not null"),
        (json!({"enum": "a"}), "enum: must be an array, not a string"),
        (json!({"maximum": true}), "maximum: must be a number, not a boolean"),
        (json!({"pattern": {}}), "pattern: must be a string, not an object"),
        (
            json!({"x-kubernetes-preserve-unknown-fields": false}),
            "x-kubernetes-preserve-unknown-fields: must be true or left out",
        ),
        (
            json!({"x-kubernetes-validations": [{"rule": 1}]}),
            "x-kubernetes-validations[0].rule: must be a string, not a number",
        ),
    ] {
        assert_eq!(Schema::parse(&schema).unwrap_err().to_string(), says);
    }
}

#[test]
fn a_schema_nested_too_deep_is_an_error_not_an_overflow() {
    let nest = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"items": inner}));
    assert!(Schema::parse(&nest(MAX_DEPTH)).is_ok());
    let error = Schema::parse(&nest(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(error.problem, "is nested deeper than 100 schemas");
}

#[test]
fn a_pattern_is_found_anywhere_as_go_finds_it() {
    for (pattern, text, found) in [
        ("b", "abc", true),
        ("^\\d+$", "12", true),
        ("^\\d+$", "١٢", false),
        ("^[\\w-]+$", "a-b_c", true),
        ("^[\\w-]+$", "é", false),
        ("^\\W$", "é", true),
        ("^[^\\s]+$", "a b", false),
        ("^[[:alpha:]]+$", "abc", true),
        ("^[a&&b]+$", "a&b", true),
        ("^[[]$", "[", true),
        ("^[]a]$", "]", true),
        ("^[^]a]$", "]", false),
        ("^[\\S]$", "\u{a0}", true),
        ("^[\\D]$", "1", false),
        ("^[\\W]$", "a", false),
        ("\\bcat\\b", "a cat", true),
        ("a\\.b", "axb", false),
    ] {
        assert_eq!(Pattern::new(pattern).is_match(text), Ok(found), "{pattern} in {text}");
    }
}

#[test]
fn a_pattern_this_engine_lacks_says_so() {
    let pattern = Pattern::new("(?=a)");
    assert!(pattern.is_match("a").unwrap_err().starts_with("pattern \"(?=a)\" cannot be evaluated here"));
    assert_eq!(pattern, Pattern::new("(?=a)"));
    assert_eq!(pattern.as_str(), "(?=a)");
    assert!(Pattern::new("a\\").is_match("a").is_err());
}

#[test]
fn a_null_keyword_is_absent() {
    let value: Value = json!({"default": null, "minimum": null, "properties": null});
    assert_eq!(Schema::parse(&value).unwrap(), Schema::default());
}
