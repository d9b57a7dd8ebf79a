//! The Common Expression Language as Kubernetes speaks it in `x-kubernetes-validations`.
//!
//! Rules are parsed and evaluated here, with the types their schema gives and the functions of the
//! Kubernetes 1.36 environment. Rules of a definition that an API server accepted are well typed, so types
//! are checked only as values meet. Whatever cannot be evaluated says so and never passes for true or false.

use thiserror::Error;

mod ast;
mod comprehension;
mod data;
mod escape;
mod eval;
mod library;
mod operator;
mod parse;
mod regexes;
mod reported_path;
mod rules;
#[cfg(test)]
mod tests;
mod token;
mod value;

pub(crate) use rules::Rules;

/// Why an expression cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
struct SyntaxError {
    problem: String,
}

impl SyntaxError {
    fn new(problem: impl Into<String>) -> SyntaxError {
        SyntaxError { problem: problem.into() }
    }
}

/// Every function that is evaluated, as rules name it. Operators, macros and literals are part of the language.
pub fn supported_functions() -> &'static [&'static str] {
    &library::FUNCTIONS
}

/// What the Kubernetes environment has and is not evaluated here: an object whose rules need it is unknown.
pub fn unsupported_functions() -> &'static [&'static str] {
    &[
        "authorizer and its functions (not available to custom resources)",
        "format() with %e, and with %f for numbers of 1000 and more",
        "getFullYear() and the like with a named time zone such as \"Europe/Berlin\"",
        "message literals such as google.protobuf.Duration{}",
        "arithmetic on quantities beyond 38 digits",
        "regular expressions that the regex crate cannot compile",
    ]
}
