//! Equality, order and arithmetic.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::ast::Operator;
use super::value::{Eval, EvalError, Items, List, ListKind, Map, Val};

/// Equality across all types; values of different types are unequal, numbers compare by value.
pub(super) fn equal<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<bool> {
    Ok(match (left, right) {
        (Val::Null, Val::Null) | (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Text(a), Val::Text(b)) => a == b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Type(a), Val::Type(b)) | (Val::Format(a), Val::Format(b)) => a == b,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b)?,
        (Val::Url(a), Val::Url(b)) => a.text == b.text,
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a, bits), Val::Cidr(b, others)) => a == b && bits == others,
        (Val::Quantity(a), Val::Quantity(b)) => a.compare(*b)?.is_eq(),
        (Val::Semver(a), Val::Semver(b)) => a.compare(b).is_eq(),
        (Val::Preserved(a), Val::Preserved(b)) => a == b,
        (Val::List(a), Val::List(b)) => equal_lists(a, b)?,
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b)?,
        _ => compare_numbers(left, right).is_some_and(Ordering::is_eq),
    })
}

fn equal_lists<'a>(left: &List<'a>, right: &List<'a>) -> Eval<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.kind {
        ListKind::Plain => {
            for (a, b) in left.iter().zip(right.iter()) {
                if !equal(&a?, &b?)? {
                    return Ok(false);
                }
            }
        }
        ListKind::Set => {
            for item in right.iter() {
                if !contains(left, &item?)? {
                    return Ok(false);
                }
            }
        }
        ListKind::Map(keys) => {
            for item in right.iter() {
                let item = item?;
                let Some(index) = position_by_keys(left, &item, keys)? else { return Ok(false) };
                if !equal(&left.get(index)?, &item)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

fn position_by_keys<'a>(list: &List<'a>, item: &Val<'a>, keys: &[String]) -> Eval<Option<usize>> {
    let key_of = |value: &Val<'a>, key: &str| match value {
        Val::Map(map) => map.find(&Val::text(super::escape::escape(key).unwrap_or(key.into()).as_ref())),
        _ => Ok(None),
    };
    'items: for (index, candidate) in list.iter().enumerate() {
        let candidate = candidate?;
        for key in keys {
            let same = match (key_of(&candidate, key)?, key_of(item, key)?) {
                (Some(a), Some(b)) => equal(&a, &b)?,
                (None, None) => true,
                _ => false,
            };
            if !same {
                continue 'items;
            }
        }
        return Ok(Some(index));
    }
    Ok(None)
}

fn equal_maps<'a>(left: &Map<'a>, right: &Map<'a>) -> Eval<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for key in left.keys() {
        match (left.find(&key)?, right.find(&key)?) {
            (Some(a), Some(b)) if equal(&a, &b)? => {}
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    // Fields CEL cannot see are compared as they are written.
    if let (Map::Data(a), Map::Data(b)) = (left, right) {
        let hidden = a.map.iter().filter(|(key, _)| a.schema_of(key).is_none());
        return Ok(hidden
            .into_iter()
            .all(|(key, value)| b.map.get(key).is_none_or(|other: &Json| value == other)));
    }
    Ok(true)
}

pub(super) fn contains<'a>(list: &List<'a>, value: &Val<'a>) -> Eval<bool> {
    let mut error = None;
    for item in list.iter() {
        match item.and_then(|item| equal(&item, value)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(found) => error = error.or(Some(found)),
        }
    }
    error.map_or(Ok(false), Err)
}

/// Order between comparable values; `None` when there is none, as with NaN.
pub(super) fn compare<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<Option<Ordering>> {
    Ok(Some(match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::Text(a), Val::Text(b)) => a.cmp(b),
        (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.cmp(b),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
            return Ok(compare_numbers(left, right));
        }
        _ => return EvalError::no_such_overload(),
    }))
}

#[allow(clippy::cast_precision_loss, reason = "what the cast loses is decided by the range check before it")]
fn compare_numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        _ => None,
    }
}

/// Applies an operator to two values.
pub(super) fn apply<'a>(operator: Operator, left: Val<'a>, right: Val<'a>) -> Eval<Val<'a>> {
    match operator {
        Operator::Equal => equal(&left, &right).map(Val::Bool),
        Operator::NotEqual => equal(&left, &right).map(|equal| Val::Bool(!equal)),
        Operator::Less => ordered(&left, &right, Ordering::is_lt),
        Operator::LessOrEqual => ordered(&left, &right, Ordering::is_le),
        Operator::Greater => ordered(&left, &right, Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(&left, &right, Ordering::is_ge),
        Operator::In => match right {
            Val::List(list) => contains(&list, &left).map(Val::Bool),
            Val::Map(map) => map.find(&left).map(|found| Val::Bool(found.is_some())),
            _ => EvalError::no_such_overload(),
        },
        Operator::Add => add(left, right),
        Operator::Subtract => subtract(&left, &right),
        Operator::Multiply => multiply(&left, &right),
        Operator::Divide => divide(&left, &right),
        Operator::Remainder => remainder(&left, &right),
    }
}

fn ordered<'a>(left: &Val<'a>, right: &Val<'a>, holds: fn(Ordering) -> bool) -> Eval<Val<'a>> {
    Ok(Val::Bool(compare(left, right)?.is_some_and(holds)))
}

fn overflow<'a, T>(value: Option<T>, wrap: fn(T) -> Val<'a>) -> Eval<Val<'a>> {
    value.map_or_else(|| EvalError::failed("integer overflow"), |value| Ok(wrap(value)))
}

pub(super) fn add<'a>(left: Val<'a>, right: Val<'a>) -> Eval<Val<'a>> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => overflow(a.checked_add(b), Val::Int),
        (Val::Uint(a), Val::Uint(b)) => overflow(a.checked_add(b), Val::Uint),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::Text(a), Val::Text(b)) => Ok(Val::text(format!("{a}{b}"))),
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([a.as_ref(), b.as_ref()].concat().into())),
        (Val::Duration(a), Val::Duration(b)) => overflow(a.checked_add(b), Val::Duration),
        (Val::Timestamp(time), Val::Duration(nanoseconds))
        | (Val::Duration(nanoseconds), Val::Timestamp(time)) => {
            super::library::time::shift(time, nanoseconds)
        }
        (Val::List(a), Val::List(b)) => concatenate(&a, &b),
        _ => EvalError::no_such_overload(),
    }
}

/// Sets are joined, keyed lists merged, other lists appended.
fn concatenate<'a>(left: &List<'a>, right: &List<'a>) -> Eval<Val<'a>> {
    let mut items = left.to_vec()?;
    if matches!(left.kind, ListKind::Plain) {
        items.extend(right.to_vec()?);
        return Ok(Val::list(items));
    }
    for item in right.iter() {
        let item = item?;
        let so_far = List { items: Items::Owned(items.as_slice().into()), kind: left.kind };
        let same = match left.kind {
            ListKind::Map(keys) => position_by_keys(&so_far, &item, keys)?,
            _ if contains(&so_far, &item)? => continue,
            _ => None,
        };
        match same.and_then(|index| items.get_mut(index)) {
            Some(slot) => *slot = item,
            None => items.push(item),
        }
    }
    Ok(Val::List(List { items: Items::Owned(items.into()), kind: left.kind }))
}

fn subtract<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<Val<'a>> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => overflow(a.checked_sub(*b), Val::Int),
        (Val::Uint(a), Val::Uint(b)) => overflow(a.checked_sub(*b), Val::Uint),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Val::Duration(a), Val::Duration(b)) => overflow(a.checked_sub(*b), Val::Duration),
        (Val::Timestamp(time), Val::Duration(nanoseconds)) => match nanoseconds.checked_neg() {
            Some(nanoseconds) => super::library::time::shift(*time, nanoseconds),
            None => EvalError::failed("integer overflow"),
        },
        (Val::Timestamp(a), Val::Timestamp(b)) => {
            overflow(i64::try_from(a.as_nanosecond() - b.as_nanosecond()).ok(), Val::Duration)
        }
        _ => EvalError::no_such_overload(),
    }
}

fn multiply<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<Val<'a>> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => overflow(a.checked_mul(*b), Val::Int),
        (Val::Uint(a), Val::Uint(b)) => overflow(a.checked_mul(*b), Val::Uint),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        _ => EvalError::no_such_overload(),
    }
}

fn divide<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<Val<'a>> {
    match (left, right) {
        (Val::Int(_), Val::Int(0)) | (Val::Uint(_), Val::Uint(0)) => EvalError::failed("division by zero"),
        (Val::Int(a), Val::Int(b)) => overflow(a.checked_div(*b), Val::Int),
        (Val::Uint(a), Val::Uint(b)) => overflow(a.checked_div(*b), Val::Uint),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        _ => EvalError::no_such_overload(),
    }
}

fn remainder<'a>(left: &Val<'a>, right: &Val<'a>) -> Eval<Val<'a>> {
    match (left, right) {
        (Val::Int(_), Val::Int(0)) | (Val::Uint(_), Val::Uint(0)) => EvalError::failed("modulus by zero"),
        (Val::Int(a), Val::Int(b)) => overflow(a.checked_rem(*b), Val::Int),
        (Val::Uint(a), Val::Uint(b)) => overflow(a.checked_rem(*b), Val::Uint),
        _ => EvalError::no_such_overload(),
    }
}
