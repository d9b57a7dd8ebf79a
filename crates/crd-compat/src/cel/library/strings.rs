//! The string extension.

use super::text_format;
use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("charAt", [Val::Text(text), Val::Int(index)]) => char_at(text, *index),
        ("indexOf", [Val::Text(text), Val::Text(part)]) => index_of(text, part, 0),
        ("indexOf", [Val::Text(text), Val::Text(part), Val::Int(offset)]) => index_of(text, part, *offset),
        ("lastIndexOf", [Val::Text(text), Val::Text(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Val::Text(text), Val::Text(part), Val::Int(offset)]) => {
            last_index_of(text, part, Some(*offset))
        }
        ("lowerAscii", [Val::Text(text)]) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", [Val::Text(text)]) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", [Val::Text(text)]) => Ok(Val::text(text.trim())),
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new)]) => {
            Ok(Val::text(text.replace(old.as_ref(), new)))
        }
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new), Val::Int(count)]) => {
            Ok(Val::text(match usize::try_from(*count) {
                Ok(count) => text.replacen(old.as_ref(), new, count),
                Err(_) => text.replace(old.as_ref(), new),
            }))
        }
        ("split", [Val::Text(text), Val::Text(separator)]) => Ok(split(text, separator, -1)),
        ("split", [Val::Text(text), Val::Text(separator), Val::Int(limit)]) => {
            Ok(split(text, separator, *limit))
        }
        ("substring", [Val::Text(text), Val::Int(start)]) => substring(text, *start, None),
        ("substring", [Val::Text(text), Val::Int(start), Val::Int(end)]) => {
            substring(text, *start, Some(*end))
        }
        ("strings.quote", [Val::Text(text)]) => Ok(Val::text(quote(text))),
        ("format", [Val::Text(text), Val::List(list)]) => {
            list.to_vec().and_then(|args| text_format::format(text, &args)).map(Val::text)
        }
        ("join", [Val::List(list)]) => join(list.to_vec(), ""),
        ("join", [Val::List(list), Val::Text(separator)]) => join(list.to_vec(), separator),
        _ => return None,
    })
}

fn out_of_range<'a>(index: i64) -> Eval<Val<'a>> {
    EvalError::failed(format!("index out of range: {index}"))
}

fn char_at<'a>(text: &str, index: i64) -> Eval<Val<'a>> {
    let Ok(at) = usize::try_from(index) else { return out_of_range(index) };
    match text.chars().nth(at) {
        Some(c) => Ok(Val::text(c.to_string())),
        None if text.chars().count() == at => Ok(Val::text("")),
        None => out_of_range(index),
    }
}

fn index_of<'a>(text: &str, part: &str, offset: i64) -> Eval<Val<'a>> {
    if part.is_empty() {
        return Ok(Val::Int(offset));
    }
    let Ok(skip) = usize::try_from(offset) else { return out_of_range(offset) };
    let Some((start, _)) = text.char_indices().nth(skip) else { return Ok(Val::Int(-1)) };
    let tail = text.get(start..).unwrap_or_default();
    Ok(match tail.find(part) {
        Some(found) => Val::size(skip + tail.get(..found).unwrap_or_default().chars().count()),
        None => Val::Int(-1),
    })
}

fn last_index_of<'a>(text: &str, part: &str, offset: Option<i64>) -> Eval<Val<'a>> {
    let length = text.chars().count();
    if part.is_empty() {
        return Ok(offset.map_or_else(|| Val::size(length), Val::Int));
    }
    if offset.is_none() && text.len() < part.len() {
        return Ok(Val::Int(-1));
    }
    let Ok(last) = usize::try_from(offset.unwrap_or_else(|| i64::try_from(length).unwrap_or(i64::MAX) - 1))
    else {
        return out_of_range(offset.unwrap_or(-1));
    };
    if last >= length {
        return Ok(Val::Int(-1));
    }
    let found = text
        .char_indices()
        .enumerate()
        .take(last + 1)
        .filter(|(_, (start, _))| text.get(*start..).is_some_and(|tail| tail.starts_with(part)))
        .last();
    Ok(found.map_or(Val::Int(-1), |(index, _)| Val::size(index)))
}

fn substring<'a>(text: &str, start: i64, end: Option<i64>) -> Eval<Val<'a>> {
    let length = text.chars().count();
    if let Some(end) = end
        && start > end
    {
        return EvalError::failed(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let within = |index: i64| usize::try_from(index).ok().filter(|index| *index <= length);
    let Some(from) = within(start) else { return out_of_range(start) };
    let to = match end {
        None => length,
        Some(end) => match within(end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
    };
    Ok(Val::text(text.chars().skip(from).take(to - from).collect::<String>()))
}

/// Go's `strings.SplitN`: a negative limit means no limit, zero no parts at all.
fn split<'a>(text: &str, separator: &str, limit: i64) -> Val<'a> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Val::list(Vec::new());
    }
    if separator.is_empty() {
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        if parts.len() > limit {
            let rest = parts.split_off(limit - 1).concat();
            parts.push(rest);
        }
        return Val::list(parts.into_iter().map(Val::text).collect());
    }
    Val::list(text.splitn(limit, separator).map(Val::text).collect())
}

fn join<'a>(items: Eval<Vec<Val<'a>>>, separator: &str) -> Eval<Val<'a>> {
    let mut out = String::new();
    for (index, item) in items?.iter().enumerate() {
        let Val::Text(text) = item else { return EvalError::failed("join: invalid input") };
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(Val::text(out))
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
