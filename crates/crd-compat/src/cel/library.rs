//! The functions of the Kubernetes CEL environment.

use super::eval::Evaluator;
use super::value::{Eval, EvalError, Val};

mod address;
mod convert;
mod format;
pub(super) mod lists;
mod optional;
pub(super) mod quantity;
mod regex;
pub(super) mod semver;
mod standard;
mod strings;
mod text_format;
pub(super) mod time;
mod url;

/// Every function that is evaluated here.
pub(super) const FUNCTIONS: [&str; 104] = [
    "size",
    "startsWith",
    "endsWith",
    "contains",
    "type",
    "dyn",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "bytes",
    "timestamp",
    "duration",
    "charAt",
    "indexOf",
    "lastIndexOf",
    "lowerAscii",
    "upperAscii",
    "trim",
    "replace",
    "split",
    "substring",
    "strings.quote",
    "format",
    "join",
    "isSorted",
    "sum",
    "min",
    "max",
    "slice",
    "flatten",
    "sort",
    "reverse",
    "distinct",
    "lists.range",
    "first",
    "last",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "optional.unwrap",
    "unwrapOpt",
    "hasValue",
    "value",
    "or",
    "orValue",
    "getFullYear",
    "getMonth",
    "getDayOfYear",
    "getDayOfMonth",
    "getDate",
    "getDayOfWeek",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
    "matches",
    "find",
    "findAll",
    "isURL",
    "url",
    "getScheme",
    "getHost",
    "getHostname",
    "getPort",
    "getEscapedPath",
    "getQuery",
    "isQuantity",
    "quantity",
    "isInteger",
    "asInteger",
    "asApproximateFloat",
    "sign",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "isIP",
    "ip",
    "ip.isCanonical",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "isCIDR",
    "cidr",
    "prefixLength",
    "masked",
    "containsIP",
    "containsCIDR",
    "format.named",
    "validate",
    "isSemver",
    "semver",
    "major",
    "minor",
    "patch",
];

/// Calls a function; the receiver of a method is its first argument.
pub(super) fn call<'a>(evaluator: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Eval<Val<'a>> {
    // Each group answers only when name and arguments fit one of its functions.
    let result = standard::call(evaluator, name, args)
        .or_else(|| convert::call(evaluator, name, args))
        .or_else(|| strings::call(evaluator, name, args))
        .or_else(|| lists::call(evaluator, name, args))
        .or_else(|| optional::call(evaluator, name, args))
        .or_else(|| time::call(evaluator, name, args))
        .or_else(|| regex::call(evaluator, name, args))
        .or_else(|| url::call(evaluator, name, args))
        .or_else(|| quantity::call(evaluator, name, args))
        .or_else(|| address::call(evaluator, name, args))
        .or_else(|| format::call(evaluator, name, args))
        .or_else(|| semver::call(evaluator, name, args));
    if let Some(result) = result {
        return result;
    }
    if FUNCTIONS.contains(&name) {
        EvalError::no_such_overload()
    } else {
        Err(EvalError::Unsupported(format!("the function {name} is not evaluated here")))
    }
}

/// The type a name stands for.
pub(super) fn type_named(name: &str) -> Option<&'static str> {
    [
        "null_type",
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "kubernetes.URL",
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
    ]
    .into_iter()
    .find(|known| *known == name)
}
