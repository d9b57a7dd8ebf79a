//! `format`: text with clauses such as `%s` and `%.2f`.

use super::convert;
use crate::cel::value::{Eval, EvalError, Map, Val};

pub(super) fn format(template: &str, args: &[Val<'_>]) -> Eval<String> {
    let mut out = String::new();
    let mut args = args.iter();
    let mut rest = template;
    while let Some(start) = rest.find('%') {
        out.push_str(rest.get(..start).unwrap_or_default());
        let clause = rest.get(start + 1..).unwrap_or_default();
        if let Some(after) = clause.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let Some(arg) = args.next() else { return EvalError::failed("index out of range") };
        let (precision, clause) = precision(clause)?;
        let mut chars = clause.chars();
        let Some(verb) = chars.next() else { return EvalError::failed("unexpected end of string") };
        out.push_str(&render(verb, precision, arg)?);
        rest = chars.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

fn precision(clause: &str) -> Eval<(Option<usize>, &str)> {
    let Some(after) = clause.strip_prefix('.') else { return Ok((None, clause)) };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    match after.get(..end).unwrap_or_default().parse() {
        // Nothing needs more digits, and each one costs.
        Ok(precision) if precision <= 1000 => Ok((Some(precision), after.get(end..).unwrap_or_default())),
        _ => EvalError::failed("error while converting precision to integer"),
    }
}

fn render(verb: char, precision: Option<usize>, arg: &Val<'_>) -> Eval<String> {
    match (verb, arg) {
        ('s', arg) => text(arg),
        ('d', Val::Int(value)) => Ok(value.to_string()),
        ('d', Val::Uint(value)) => Ok(value.to_string()),
        // Grouping of digits depends on the locale of the server's tables.
        ('f', Val::Double(value)) if value.abs() < 1000.0 => {
            Ok(format!("{value:.*}", precision.unwrap_or(6)))
        }
        ('f' | 'e', Val::Double(_) | Val::Text(_)) => {
            Err(EvalError::Unsupported(format!("the clause %{verb} of format() is not evaluated here")))
        }
        ('b', Val::Bool(value)) => Ok(u8::from(*value).to_string()),
        ('b', Val::Int(value)) => Ok(signed(*value, |value| format!("{value:b}"))),
        ('b', Val::Uint(value)) => Ok(format!("{value:b}")),
        ('o', Val::Int(value)) => Ok(signed(*value, |value| format!("{value:o}"))),
        ('o', Val::Uint(value)) => Ok(format!("{value:o}")),
        ('x' | 'X', arg) => {
            let hex = match arg {
                Val::Int(value) => signed(*value, |value| format!("{value:x}")),
                Val::Uint(value) => format!("{value:x}"),
                Val::Text(text) => hex(text.as_bytes()),
                Val::Bytes(bytes) => hex(bytes),
                _ => {
                    return EvalError::failed(
                        "only integers, byte buffers, and strings can be formatted as hex",
                    );
                }
            };
            Ok(if verb == 'X' { hex.to_uppercase() } else { hex })
        }
        _ => EvalError::failed(format!("unrecognized formatting clause or argument for %{verb}")),
    }
}

fn signed(value: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn text(arg: &Val<'_>) -> Eval<String> {
    match arg {
        Val::Null => Ok("null".to_owned()),
        Val::Type(name) => Ok((*name).to_owned()),
        Val::List(list) => {
            let items = list.iter().map(|item| nested(&item?)).collect::<Eval<Vec<_>>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Val::Map(map) => map_text(map),
        arg => match convert::string(arg) {
            Some(Ok(Val::Text(text))) => Ok(text.to_string()),
            Some(Err(error)) => Err(error),
            _ => EvalError::failed(format!("no formatting function for {}", arg.type_name())),
        },
    }
}

fn map_text(map: &Map<'_>) -> Eval<String> {
    let mut entries = Vec::new();
    for key in map.keys() {
        if let Some(value) = map.find(&key)? {
            entries.push((nested(&key)?, nested(&value)?));
        }
    }
    entries.sort();
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}

/// A value inside a list or map is written as CEL would write it.
fn nested(value: &Val<'_>) -> Eval<String> {
    let plain = match value {
        Val::Double(value) => return Ok(format!("{value:.6}")),
        value => text(value)?,
    };
    Ok(match value {
        Val::Text(_) => format!("{plain:?}"),
        Val::Bytes(_) => format!("b{plain:?}"),
        Val::Timestamp(_) => format!("timestamp({plain:?})"),
        Val::Duration(_) => format!("duration({plain:?})"),
        _ => plain,
    })
}
