//! Conversions between types.

use super::{address, time};
use crate::admit::format::parse_go_duration;
use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    let [value] = args else { return None };
    match name {
        "int" => int(value),
        "uint" => uint(value),
        "double" => double(value),
        "string" => string(value),
        "bool" => boolean(value),
        "bytes" => match value {
            Val::Text(text) => Some(Ok(Val::Bytes(text.as_bytes().into()))),
            Val::Bytes(_) => Some(Ok(value.clone())),
            _ => None,
        },
        "timestamp" => match value {
            Val::Text(text) => Some(match time::parse_rfc3339(text) {
                Some(time) => Ok(Val::Timestamp(time)),
                None => conversion("string", "google.protobuf.Timestamp"),
            }),
            Val::Int(seconds) => Some(match jiff::Timestamp::from_second(*seconds) {
                Ok(time) => Ok(Val::Timestamp(time)),
                Err(_) => EvalError::failed("timestamp overflow"),
            }),
            Val::Timestamp(_) => Some(Ok(value.clone())),
            _ => None,
        },
        "duration" => match value {
            Val::Text(text) => Some(match parse_go_duration(text) {
                Some(nanoseconds) => Ok(Val::Duration(nanoseconds)),
                None => conversion("string", "google.protobuf.Duration"),
            }),
            Val::Int(nanoseconds) => Some(Ok(Val::Duration(*nanoseconds))),
            Val::Duration(_) => Some(Ok(value.clone())),
            _ => None,
        },
        _ => None,
    }
}

fn conversion<'a>(from: &str, to: &str) -> Eval<Val<'a>> {
    EvalError::failed(format!("type conversion error from '{from}' to '{to}'"))
}

fn overflow<'a>() -> Eval<Val<'a>> {
    EvalError::failed("integer overflow")
}

#[allow(clippy::cast_possible_truncation, reason = "range is checked before the cast")]
fn int<'a>(value: &Val<'a>) -> Option<Eval<Val<'a>>> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    Some(match value {
        Val::Int(_) => Ok(value.clone()),
        Val::Uint(value) => i64::try_from(*value).map(Val::Int).or_else(|_| overflow()),
        Val::Double(value) if *value > -LIMIT && *value < LIMIT => Ok(Val::Int(*value as i64)),
        Val::Double(_) => overflow(),
        Val::Text(text) => match parse_int(text) {
            Some(value) => Ok(Val::Int(value)),
            None => conversion("string", "int"),
        },
        Val::Timestamp(time) => {
            Ok(Val::Int(time.as_nanosecond().div_euclid(1_000_000_000).try_into().unwrap_or(0)))
        }
        Val::Duration(nanoseconds) => Ok(Val::Int(*nanoseconds)),
        _ => return None,
    })
}

/// Go reads a sign and digits; Rust does the same.
fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "range is checked before the cast"
)]
fn uint<'a>(value: &Val<'a>) -> Option<Eval<Val<'a>>> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    Some(match value {
        Val::Uint(_) => Ok(value.clone()),
        Val::Int(value) => u64::try_from(*value).map(Val::Uint).or_else(|_| overflow()),
        Val::Double(value) if *value >= 0.0 && *value < LIMIT => Ok(Val::Uint(*value as u64)),
        Val::Double(_) => overflow(),
        Val::Text(text) => match text.parse() {
            Ok(value) if !text.starts_with('+') => Ok(Val::Uint(value)),
            _ => conversion("string", "uint"),
        },
        _ => return None,
    })
}

#[allow(clippy::cast_precision_loss, reason = "Go loses the same digits")]
fn double<'a>(value: &Val<'a>) -> Option<Eval<Val<'a>>> {
    Some(match value {
        Val::Double(_) => Ok(value.clone()),
        Val::Int(value) => Ok(Val::Double(*value as f64)),
        Val::Uint(value) => Ok(Val::Double(*value as f64)),
        Val::Text(text) => match parse_float(text) {
            Some(value) => Ok(Val::Double(value)),
            None => conversion("string", "double"),
        },
        _ => return None,
    })
}

/// Go refuses what is too large for a float, and reads underscores nowhere.
fn parse_float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let named = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    (value.is_finite() || matches!(named.as_str(), "inf" | "infinity" | "nan")).then_some(value)
}

fn boolean<'a>(value: &Val<'a>) -> Option<Eval<Val<'a>>> {
    Some(match value {
        Val::Bool(_) => Ok(value.clone()),
        Val::Text(text) => match text.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => conversion("string", "bool"),
        },
        _ => return None,
    })
}

/// The text `string()` and `%s` make of a value.
pub(super) fn string<'a>(value: &Val<'a>) -> Option<Eval<Val<'a>>> {
    Some(match value {
        Val::Text(_) => Ok(value.clone()),
        Val::Bool(value) => Ok(Val::text(value.to_string())),
        Val::Int(value) => Ok(Val::text(value.to_string())),
        Val::Uint(value) => Ok(Val::text(value.to_string())),
        Val::Double(value) => Ok(Val::text(float_text(*value))),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::text(text)),
            Err(_) => EvalError::failed("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Val::Timestamp(moment) => Ok(Val::text(time::rfc3339(*moment))),
        Val::Duration(nanoseconds) => Ok(Val::text(time::seconds_text(*nanoseconds))),
        Val::Ip(ip) => Ok(Val::text(address::ip_text(*ip))),
        Val::Cidr(ip, bits) => Ok(Val::text(format!("{}/{bits}", address::ip_text(*ip)))),
        _ => return None,
    })
}

/// A float as Go's `%g` writes it.
pub(super) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    value.to_string()
}
