//! What of CEL is evaluated.

use std::fmt::Write as _;

use slipway_crd_compat::cel;

const BEFORE: &str = "\
# CEL rules

<!-- Written by `cargo xtask generate`; do not edit. -->

CRDs carry rules in the Common Expression Language (`x-kubernetes-validations`). `slipway crd` evaluates
them itself: to find the object that a new rule refuses, and to say which live objects it would refuse.
It does so as the API server of Kubernetes 1.36 does, with the types the schema gives; a thousand answers
of a real API server are recorded and compared in the tests.

## What is evaluated

The language: literals, operators, lists, maps, optional fields (`self.?a`), `has()`, the macros `all`,
`exists`, `exists_one`, `map`, `filter`, their forms with two variables, `transformList`, `transformMap`,
`transformMapEntry`, `sortBy`, `optMap` and `optFlatMap`; `self` and `oldSelf`; `messageExpression`. And these
functions:

";

const BETWEEN: &str = "
## What is not

An expression that needs one of these is not evaluated:

";

const AFTER: &str = "
So is one that would take too long, or a function that a later Kubernetes brings.

## What `unknown` means

A rule that cannot be evaluated is neither true nor false, and Slipway does not pretend. A live object that
depends on it is reported as `unknown`, with the reason, never as fine, unless something else refuses it for
certain. `slipway crd impact` ends with exit code 1 when there are any: try such objects on a cluster,
`kubectl create --dry-run=server`. In a comparison, an added or changed rule that cannot be evaluated
stays breaking, without a witness, and the report says why there is none.

## Transition rules

A rule that mentions `oldSelf` compares with what is stored, so it never refuses a create, only updates.
No single object can show it; the finding says so, and hits updates only.
";

/// The reference as Markdown.
pub fn cel() -> String {
    let mut text = String::from(BEFORE);
    let mut functions = cel::supported_functions().to_vec();
    functions.sort_unstable();
    let listed: Vec<String> = functions.iter().map(|name| format!("`{name}`")).collect();
    wrap(&mut text, &listed.join(", "));
    text.push_str(BETWEEN);
    for item in cel::unsupported_functions() {
        // A string takes every write.
        let _ = writeln!(text, "- {item}");
    }
    text.push_str(AFTER);
    text
}

/// Breaks a text into lines of a readable length.
fn wrap(text: &mut String, words: &str) {
    let mut column = 0;
    for word in words.split(' ') {
        if column > 0 && column + word.len() >= 100 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
        }
        text.push_str(word);
        column += word.len() + 1;
    }
    text.push('\n');
}
