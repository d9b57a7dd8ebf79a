//! Functions of CEL itself that are not conversions.

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(Ok(match (name, args) {
        ("size", [Val::Text(text)]) => Val::size(text.chars().count()),
        ("size", [Val::Bytes(bytes)]) => Val::size(bytes.len()),
        ("size", [Val::List(list)]) => Val::size(list.len()),
        ("size", [Val::Map(map)]) => Val::size(map.len()),
        ("startsWith", [Val::Text(text), Val::Text(prefix)]) => Val::Bool(text.starts_with(prefix.as_ref())),
        ("endsWith", [Val::Text(text), Val::Text(suffix)]) => Val::Bool(text.ends_with(suffix.as_ref())),
        ("contains", [Val::Text(text), Val::Text(part)]) => Val::Bool(text.contains(part.as_ref())),
        ("type", [value]) => Val::Type(value.type_name()),
        ("dyn", [value]) => value.clone(),
        _ => return None,
    }))
}
