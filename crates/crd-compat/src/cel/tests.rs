//! What an expression gives. Agreement with the API server is shown by the recorded answers in `tests/`;
//! here is what those cannot show: errors of a rule the API server would not have compiled, limits, and
//! what is not evaluated.

use serde_json::{Value as Json, json};

use super::data::typed;
use super::eval::Evaluator;
use super::parse::parse;
use super::regexes::Regexes;
use super::value::{EvalError, Val};
use super::{Rules, unsupported_functions};
use crate::admit::Findings;
use crate::admit::tests::{widget, with_schema, with_spec};
use crate::admit::{Verdict, Violation};
use crate::schema::Schema;

#[derive(Debug, PartialEq)]
enum Outcome {
    Bool(bool),
    Error(String),
    Unsupported(String),
    TooCostly,
    Syntax(String),
    Other,
}

fn outcome_on(source: &str, schema: &Json, value: &Json) -> Outcome {
    let expr = match parse(source) {
        Ok(expr) => expr,
        Err(error) => return Outcome::Syntax(error.to_string()),
    };
    let schema = Schema::parse(schema).unwrap();
    let regexes = Regexes::default();
    let mut evaluator = Evaluator::new(&regexes);
    evaluator.bind("self", typed(value, &schema, false));
    match evaluator.eval(&expr) {
        Ok(Val::Bool(value)) => Outcome::Bool(value),
        Ok(_) => Outcome::Other,
        Err(EvalError::Failed(error)) => Outcome::Error(error),
        Err(EvalError::Unsupported(reason)) => Outcome::Unsupported(reason),
        Err(EvalError::TooCostly) => Outcome::TooCostly,
    }
}

fn outcome(source: &str) -> Outcome {
    outcome_on(source, &json!({"type": "object"}), &json!({}))
}

fn error(message: &str) -> Outcome {
    Outcome::Error(message.to_owned())
}

#[test]
fn these_hold() {
    for source in [
        "0x1F == 31",
        "1e3 == 1000.0 && 1.5e-1 == 0.15",
        "// a comment\ntrue // another",
        "!!true",
        ".true == true || true",
        "- -1 == 1",
        "1u < 2 && 2u > 1 && 1u < 1.5 && 1.5 < 2u && 2.5 > 1u",
        "b'b' > b'a' && b'\\x41\\101\\n' == b'AA\\n'",
        "2.5 - 1.0 == 1.5 && 3u * 2u == 6u && 7u / 2u == 3u && 7u % 2u == 1u",
        "1 <= 1 && 'b' >= 'a' && false < true",
        "duration('2s') - duration('1s') == duration('1s') && duration(5) == duration('5ns')",
        "duration('1s') + timestamp(0) == timestamp(1)",
        "duration(duration('1s')) == duration('1s') && timestamp(timestamp(0)) == timestamp(0)",
        "int(5) == 5 && int(5u) == 5 && uint(5u) == 5u && double(2u) == 2.0 && double(2.5) == 2.5",
        "bool(true) && bytes(b'a') == b'a' && string('a') == 'a'",
        "string(0.0 / 0.0) == 'NaN' && string(1.0 / 0.0) == '+Inf' && string(-1.0 / 0.0) == '-Inf'",
        "'\\a\\b\\f\\r\\t\\v\\`\\?\\U0001F600' != ''",
        "optional.of(optional.of(1)) == optional.of(optional.of(1.0))",
        "[1, 2][1u] == 2 && [1, 2][1.0] == 2",
        "{'a': 1}.?b.hasValue() == false && [1][?0].value() == 1",
        "optional.ofNonZeroValue('').hasValue() == false && optional.ofNonZeroValue(0.0).hasValue() == false",
        "optional.ofNonZeroValue(0u).hasValue() == false && optional.ofNonZeroValue(false).hasValue() == false",
        "optional.ofNonZeroValue([]).hasValue() == false && optional.ofNonZeroValue({}).hasValue() == false",
        "optional.ofNonZeroValue(b'').hasValue() == false && optional.ofNonZeroValue(null).hasValue() == false",
        "optional.ofNonZeroValue(timestamp(0)).hasValue()",
        "type(optional.none()) == optional_type && type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR",
        "type(url('/a')) == kubernetes.URL && type(quantity('1')) == kubernetes.Quantity",
        "type(semver('1.2.3')) == kubernetes.Semver && type(format.uri()) != int",
        "quantity('1.5').sign() == 1 && quantity('-1.5Gi').sign() == -1 && quantity('0').sign() == 0",
        "quantity('1e50').sign() == 1 && quantity('-1e50').sign() == -1 && !quantity('1e50').isInteger()",
        "quantity('1e50').isGreaterThan(quantity('1')) && quantity('1e50').asApproximateFloat() > 1e49",
        "quantity('1').asApproximateFloat() == 1.0 && quantity('1.5Gi').asApproximateFloat() > 1e9",
        "quantity('1').add(0) == quantity('1') && quantity('0').add(1) == quantity('1')",
        "quantity('9223372036854775807').add(1).isGreaterThan(quantity('9223372036854775807'))",
        "quantity('1e-60').isGreaterThan(quantity('0')) && quantity('99999999999999999999999Ei').sign() == 1",
        "quantity('-1.5Gi').isLessThan(quantity('0'))",
        "'%s %s'.format([type(1), b'ab']) == 'int ab' && '%x'.format([b'ab']) == '6162'",
        "'%d %b %o %x'.format([7u, 7u, 7u, 7u]) == '7 111 7 7' && '%o'.format([-8]) == '-10'",
        "'%s'.format([[timestamp(0), duration('1s')]]) == '[timestamp(\"1970-01-01T00:00:00Z\"), duration(\"1s\")]'",
        "'%s'.format([[b'a', 'b']]) == '[b\"a\", \"b\"]' && '%s'.format([{}]) == '{}'",
        "'aXbX'.lastIndexOf('X', 2) == 1 && 'ab'.lastIndexOf('', 1) == 1 && 'ab'.lastIndexOf('a', 9) == -1",
        "strings.quote('\\a\\b\\f\\r\\t\\v') == '\"\\\\a\\\\b\\\\f\\\\r\\\\t\\\\v\"'",
        "'abc'.replace('b', 'x', -1) == 'axc'",
        "[1, 2].sort() == [1, 2] && [].sort() == [] && [1, 2].reverse() == [2, 1]",
        "{1: 'a'}.exists(k, v, v == 'a' && k == 1) && {'a': 1}.transformMapEntry(k, v, v > 1, {v: k}) == {}",
        "[1u, 2u].sum() == 3u && [duration('1s')].sum() == duration('1s')",
        "'a' in {'a': 1} && !(2 in {1: 'a'}) && 1 in {1.0: 'a'}",
        "has({'a': 1}.a) && !has({}.a) && has(optional.of({'a': 1}).a) && !has(optional.none().a)",
        "timestamp('2020-01-01T00:00:00,5Z') == timestamp('2020-01-01T00:00:00.5Z')",
        "url('*').getEscapedPath() == '*' && url('/a?b&c=%zz&d;e=1&f').getQuery() == {'b': [''], 'f': ['']}",
        "isSemver('1.2.3-x-y.1') && !isSemver('1.2.3+') && !isSemver('1.2.3-') && !isSemver('1.2.99999999999999999999')",
        "ip.isCanonical('1:0:0:2::') && ip.isCanonical('1:2:3:4:5:6:7:8')",
        "true || self.nothing.at.all",
    ] {
        assert_eq!(outcome(source), Outcome::Bool(true), "{source}");
    }
}

#[test]
fn these_are_errors_to_the_api_server_too() {
    for (source, message) in [
        ("self.missing == 1", "no such key: missing"),
        ("{1: 'a'}[2] == 'a'", "no such key: Int(2)"),
        ("[1]['a'] == 1", "unsupported index type"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ("{'a': 1, 'a': 2} == {}", "Failed with repeated key"),
        ("9223372036854775807 * 2 == 0", "integer overflow"),
        ("-9223372036854775808 - 1 == 0", "integer overflow"),
        ("-(-9223372036854775808) == 0", "integer overflow"),
        ("-9223372036854775808 / -1 == 0", "integer overflow"),
        ("1u / 0u == 0u", "division by zero"),
        ("1u % 0u == 0u", "modulus by zero"),
        ("timestamp(0) - duration(-9223372036854775807 - 1) > timestamp(0)", "integer overflow"),
        ("timestamp(9223372036854775807) > timestamp(0)", "timestamp overflow"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("int(1e30) == 1", "integer overflow"),
        ("int(18446744073709551615u) == 1", "integer overflow"),
        ("uint('x') == 1u", "type conversion error from 'string' to 'uint'"),
        ("uint(-1) == 1u", "integer overflow"),
        ("uint(-1.0) == 1u", "integer overflow"),
        ("double('x') == 1.0", "type conversion error from 'string' to 'double'"),
        ("bool('x')", "type conversion error from 'string' to 'bool'"),
        ("string(b'\\xff') == ''", "invalid UTF-8 in bytes, cannot convert to string"),
        (
            "timestamp('x') == timestamp(0)",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            "duration('x') == duration('1s')",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("quantity('x') == quantity('1')", "quantities must match the regular expression"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("[1, 'a'].sort() == []", "list elements must have the same type"),
        ("[[1]].sort() == []", "no such overload"),
        ("'%d'.format(['a']) == ''", "unrecognized formatting clause or argument for %d"),
        ("'%x'.format([1.5]) == ''", "only integers, byte buffers, and strings can be formatted as hex"),
        ("'%'.format([1]) == ''", "unexpected end of string"),
        ("'%s'.format([]) == ''", "index out of range"),
        ("'%.99999f'.format([1.0]) == ''", "error while converting precision to integer"),
        ("'%s'.format([optional.none()]) == ''", "no formatting function for optional_type"),
        ("'%s'.format([b'\\xff']) == ''", "invalid UTF-8 in bytes, cannot convert to string"),
        ("'abc'.lastIndexOf('a', -1) == 0", "index out of range: -1"),
        ("'abc'.charAt(-1) == ''", "index out of range: -1"),
        ("'abc'.substring(0, 9) == ''", "index out of range: 9"),
        ("[1].join() == ''", "join: invalid input"),
        ("[1, 2].transformMapEntry(i, v, {'same': v}) == {}", "insert failed: key already exists"),
        ("timestamp(0).getHours('a:b') == 1", "invalid time zone a:b"),
    ] {
        assert_eq!(outcome(source), error(message), "{source}");
    }
}

#[test]
fn a_function_does_not_take_what_it_has_no_overload_for() {
    for source in [
        "1 + 'a' == 1",
        "1 - 'a' == 1",
        "1 * 'a' == 1",
        "1 / 'a' == 1",
        "1 % 'a' == 1",
        "1 < 'a'",
        "1 in 2",
        "!1",
        "-'a' == 1",
        "1 ? true : false",
        "1 && true",
        "1 || false",
        "size(1) == 1",
        "int([]) == 1",
        "uint([]) == 1u",
        "double([]) == 1.0",
        "bool([])",
        "string([]) == ''",
        "bytes(1) == b''",
        "timestamp([]) == timestamp(0)",
        "duration([]) == duration('1s')",
        "(1).a == 1",
        "has((1).a)",
        "[?1] == []",
        "{?'a': 1} == {}",
        "(1).orValue(2) == 1",
        "optional.unwrap([1]) == []",
        "(1).all(x, true)",
        "[1].all(x, 5)",
        "[1].exists_one(x, 5)",
        "[1].filter(x, 5) == []",
        "[1].map(x, 5, x) == []",
        "(1).optMap(x, x).hasValue()",
        "{}.sortBy(x, x) == []",
        "[1].transformMapEntry(i, v, 5) == {}",
        "1 == 1 && 5",
        "self[1] == 1",
    ] {
        assert_eq!(outcome(source), error("no such overload"), "{source}");
    }
}

#[test]
fn these_are_not_evaluated_and_say_so() {
    for (source, reason) in [
        ("future(1)", "the function future is not evaluated here"),
        ("'%e'.format([1.0]) == ''", "the clause %e of format() is not evaluated here"),
        ("'%f'.format([1000.0]) == ''", "the clause %f of format() is not evaluated here"),
        ("timestamp(0).getHours('Europe/Berlin') == 1", "the time zone Europe/Berlin is not known here"),
        ("timestamp(0).getHours('+99:00') == 1", "the time zone +99:00 is out of range here"),
        ("authorizer.group('') == null", "the variable authorizer is not known here"),
        ("quantity('1e50').add(1).sign() == 1", "a quantity is too large to be computed with here"),
        ("quantity('1e50') == quantity('1e51')", "a quantity is too large to be computed with here"),
        ("1 / 0 == 1 || future(1)", "the function future is not evaluated here"),
        ("future(1) || 1 / 0 == 1", "the function future is not evaluated here"),
        ("[0].all(x, future(x) || 1 / x == 1)", "the function future is not evaluated here"),
    ] {
        assert_eq!(outcome(source), Outcome::Unsupported(reason.to_owned()), "{source}");
    }
    let Outcome::Unsupported(reason) = outcome("'a'.matches('(?=a)')") else {
        panic!("look-ahead is not RE2")
    };
    assert!(reason.starts_with("pattern \"(?=a)\" cannot be evaluated here"));
    assert!(unsupported_functions().iter().any(|line| line.contains("time zone")));
}

#[test]
fn what_decides_makes_up_for_what_is_not_evaluated() {
    for source in [
        "future(1) || true",
        "true || future(1)",
        "!(future(1) && false)",
        "[1, 2].exists(x, x == 1 || future(x))",
    ] {
        assert_eq!(outcome(source), Outcome::Bool(true), "{source}");
    }
}

#[test]
fn these_are_no_expressions() {
    for (source, problem) in [
        ("", "the expression ends early"),
        ("1 +", "the expression ends early"),
        ("1 2", "unexpected Int(2)"),
        ("'a", "a string is not closed"),
        ("'a\nb'", "a string is not closed"),
        ("'\\q'", "a string has an invalid escape"),
        ("b'\\u0041'", "a string has an invalid escape"),
        ("'\\ud800'", "a string has an invalid escape"),
        ("rr'a'", "unexpected Text(\"a\")"),
        ("a # b", "unexpected character '#'"),
        ("9223372036854775808", "9223372036854775808 is too large for an integer"),
        ("-9223372036854775809", "9223372036854775809 is too large for an integer"),
        ("99999999999999999999999", "invalid integer 99999999999999999999999"),
        ("namespace == 'a'", "namespace is a reserved word"),
        ("in == 'a'", "unexpected in"),
        ("self.in == 'a'", "a name is missing"),
        ("has(self)", "has() takes one field selection"),
        ("has(self.a, self.b)", "has() takes one field selection"),
        ("[1].all(1, true)", "all() needs a variable name first"),
        ("(1", ") is missing"),
        ("[1", "] is missing"),
        ("{1: 2", "} is missing"),
        ("{1}", ": is missing"),
        ("1 ? 2", ": is missing"),
        (") 1", "unexpected )"),
    ] {
        assert_eq!(outcome(source), Outcome::Syntax(problem.to_owned()), "{source}");
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    let nested = format!("{}1{} == 1", "(".repeat(500), ")".repeat(500));
    assert_eq!(outcome(&nested), Outcome::Syntax("the expression is nested too deep".to_owned()));
    let fits = format!("{}1{} == 1", "(".repeat(70), ")".repeat(70));
    assert_eq!(outcome(&fits), Outcome::Bool(true));
    let chain = format!("1{} == 0", " + 1".repeat(500));
    assert_eq!(outcome(&chain), Outcome::Syntax("the expression is nested too deep".to_owned()));
    assert_eq!(outcome(&format!("true{}", " && true".repeat(5000))), Outcome::Bool(true));
    let long = format!("true{}", " && true".repeat(20_000));
    assert_eq!(outcome(&long), Outcome::Syntax("the expression is too long".to_owned()));
}

#[test]
fn what_takes_too_long_is_given_up() {
    for source in [
        "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))",
        "lists.range(1000000000).size() == 1",
        "lists.range(2000).distinct().size() == 1",
        "sets.contains(lists.range(2000), lists.range(2000))",
        "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0)) || true",
        "[1].exists(a, lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0)))",
    ] {
        assert_eq!(outcome(source), Outcome::TooCostly, "{source}");
    }
    let text = json!("a".repeat(600_000));
    let schema = json!({"type": "string"});
    assert_eq!(
        outcome_on("self.matches('(a|b)*c(a|b)*c(a|b)*c(a|b)*c')", &schema, &text),
        Outcome::TooCostly
    );
}

#[test]
fn data_that_does_not_fit_its_schema_is_an_error_when_it_is_used() {
    let number = json!({"type": "number"});
    for (schema, value, message) in [
        (
            json!({"type": "object"}),
            json!(1),
            "invalid data, expected a map for the provided schema with type=object",
        ),
        (
            json!({"type": "array", "items": number}),
            json!(1),
            "invalid data, expected an array for the provided schema with type=array",
        ),
        (json!({"type": "array"}), json!([]), "invalid array type, expected Items with a non-empty Schema"),
        (number, json!("x"), "invalid data, expected float"),
        (json!({"type": "integer"}), json!("x"), "invalid data, expected int"),
        (json!({"type": "boolean"}), json!("x"), "invalid data, expected bool"),
        (json!({"type": "string"}), json!(null), "invalid data, got null for schema with nullable=false"),
        (json!({}), json!(1), "invalid data, expected a typed value"),
        (json!({"type": "string", "format": "duration"}), json!("x"), "Invalid duration x"),
        (json!({"type": "string", "format": "date"}), json!("x"), "Invalid date formatted string x"),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("x"),
            "Invalid date-time formatted string x",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(1.5),
            "invalid data, expected XIntOrString value to be either a string or integer",
        ),
    ] {
        assert_eq!(outcome_on("self == self", &schema, &value), error(message), "{schema}");
    }
    let nullable = json!({"type": "string", "nullable": true});
    assert_eq!(outcome_on("self == null", &nullable, &json!(null)), Outcome::Bool(true));
    let epoch = json!({"type": "string", "format": "date-time"});
    assert_eq!(outcome_on("self == timestamp(0)", &epoch, &json!("")), Outcome::Bool(true));
    assert_eq!(
        outcome_on("self == timestamp(0)", &epoch, &json!("1970-01-01T00:00:00")),
        Outcome::Bool(true)
    );
}

#[test]
fn unknown_data_can_only_be_compared() {
    let schema = json!({"type": "object", "properties": {
        "a": {"x-kubernetes-preserve-unknown-fields": true}, "b": {"x-kubernetes-preserve-unknown-fields": true}}});
    assert_eq!(
        outcome_on("self.a == self.b", &schema, &json!({"a": {"x": 1}, "b": {"x": 1}})),
        Outcome::Bool(true)
    );
    assert_eq!(
        outcome_on("self.a == self.b", &schema, &json!({"a": {"x": 1}, "b": 2})),
        Outcome::Bool(false)
    );
    assert_eq!(outcome_on("type(self.a) == int", &schema, &json!({"a": 1})), Outcome::Bool(false));
}

#[test]
fn sets_and_keyed_lists_compare_without_order() {
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item});
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"a": keyed, "b": keyed, "s": set, "t": set}});
    let value = json!({
        "a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "b": [{"k": "y", "v": 2}, {"k": "x", "v": 1}],
        "s": ["p", "q"], "t": ["q", "r"]});
    for (source, holds) in [
        ("self.a == self.b", true),
        ("self.a == [{'k': 'x', 'v': 1}, {'k': 'z', 'v': 2}]", false),
        ("self.a == [{'k': 'x', 'v': 1}, {'k': 'y', 'v': 9}]", false),
        ("self.a == [{'k': 'x', 'v': 1}]", false),
        ("self.a == [1, 2]", false),
        ("self.a == [{'v': 1}, {'v': 2}]", false),
        ("(self.a + [{'k': 'y', 'v': 5}, {'k': 'z', 'v': 6}]).map(x, x.v) == [1, 5, 6]", true),
        ("self.s == self.t", false),
        ("self.s + self.t == ['p', 'q', 'r']", true),
    ] {
        assert_eq!(outcome_on(source, &schema, &value), Outcome::Bool(holds), "{source}");
    }
}

fn refusal(validator: &crate::admit::Validator, spec: &Json) -> Vec<Violation> {
    match validator.create(&widget(spec)).verdict {
        Verdict::Rejected(violations) => violations,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rule_names_its_field_its_reason_and_its_message() {
    let validator = with_spec(&json!({"type": "object", "properties": {
        "s": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'", "reason": "FieldValueDuplicate"}]},
        "t": {"type": "string", "x-kubernetes-validations": [{"rule": " self != 'a' "}, {"rule": ""}]}}}));
    let told: Vec<_> =
        refusal(&validator, &json!({"s": "a", "t": "a"})).into_iter().map(|v| (v.path, v.message)).collect();
    assert_eq!(
        told,
        [
            ("spec.s".to_owned(), "Duplicate value: \"a\"".to_owned()),
            ("spec.t".to_owned(), "Invalid value: \"a\": failed rule: self != 'a'".to_owned()),
        ]
    );
}

#[test]
fn a_rule_that_cannot_be_judged_leaves_the_object_unknown() {
    let with_rule = |rule: &str| {
        with_spec(&json!({"type": "object", "properties": {"i": {"x-kubernetes-int-or-string": true}},
            "x-kubernetes-validations": [{"rule": rule}]}))
    };
    for (rule, reason) in [
        ("self.i ==", "spec: the rule \"self.i ==\" cannot be parsed here: the expression ends early"),
        ("self.i", "spec: the rule \"self.i\" does not give a boolean here"),
        (
            "future(self.i)",
            "spec: the function future is not evaluated here (in the rule \"future(self.i)\")",
        ),
        (
            "lists.range(1000).all(x, lists.range(1000).all(y, true))",
            "spec: the rule \"lists.range(1000).all(x, lists.range(1000).all(y, true))\" is too costly to evaluate here",
        ),
    ] {
        let verdict = with_rule(rule).create(&widget(&json!({"i": 1}))).verdict;
        assert_eq!(verdict, Verdict::Unknown(vec![reason.to_owned()]));
    }
}

#[test]
fn a_rule_inside_all_of_runs_where_any_rule_is_on_the_spine() {
    let schema = Schema::parse(&json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}],
        "allOf": [{"x-kubernetes-validations": [{"rule": "false"}]}]}))
    .unwrap();
    let mut found = Findings::default();
    Rules::of(&schema).check(&json!({}), &schema, &mut found);
    assert_eq!(found.violations.len(), 1);
    let alone = Schema { validations: Vec::new(), ..schema };
    let mut found = Findings::default();
    Rules::of(&alone).check(&json!({}), &alone, &mut found);
    assert!(found.violations.is_empty());
}

#[test]
fn rules_on_what_has_no_type_do_not_run() {
    let validator = with_spec(&json!({"type": "object", "properties": {
        "u": {"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "false"}]},
        "i": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": "self != 3"}]}}}));
    let told: Vec<_> = refusal(&validator, &json!({"u": 1, "i": 3})).into_iter().map(|v| v.path).collect();
    assert_eq!(told, ["spec.i"]);
}

#[test]
fn a_status_write_sees_the_object_before_it() {
    let schema = json!({"type": "object",
        "x-kubernetes-validations": [
            {"rule": "!has(oldSelf.status) && self.spec == oldSelf.spec"},
            {"rule": "oldSelf.hasValue()", "optionalOldSelf": true},
            {"rule": "self.status.phase != 'Bad'", "message": "bad"}],
        "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "string",
                "x-kubernetes-validations": [{"rule": "false", "message": "not judged again"}]}}},
            "status": {"type": "object", "properties": {"phase": {"type": "string",
                "x-kubernetes-validations": [{"rule": "self != 'Worse'", "message": "worse"},
                                             {"rule": "self == oldSelf", "message": "no old status to compare"}]}}}}});
    let validator = with_schema(&schema, &json!({"status": {}}));
    let with_phase = |phase: &str| {
        let mut object = widget(&json!({"a": "x"}));
        object["status"] = json!({"phase": phase});
        match validator.update_status(&object).verdict {
            Verdict::Accepted => Vec::new(),
            Verdict::Rejected(violations) => violations.into_iter().map(|v| (v.path, v.message)).collect(),
            Verdict::Unknown(reasons) => panic!("{reasons:?}"),
        }
    };
    assert!(with_phase("Good").is_empty());
    assert_eq!(with_phase("Bad"), [(String::new(), "Invalid value: bad".to_owned())]);
    assert_eq!(
        with_phase("Worse"),
        [("status.phase".to_owned(), "Invalid value: \"Worse\": worse".to_owned())]
    );
}
