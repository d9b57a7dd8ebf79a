//! Functions on lists: the Kubernetes library, the CEL extension, and sets.

use std::cmp::Ordering;

use crate::cel::eval::Evaluator;
use crate::cel::operator::{add, compare, contains, equal};
use crate::cel::value::{Eval, EvalError, List, Val};

pub(super) fn call<'a>(
    evaluator: &mut Evaluator<'a, '_>,
    name: &str,
    args: &[Val<'a>],
) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("isSorted", [Val::List(list)]) => is_sorted(list),
        ("sum", [Val::List(list)]) => sum(list),
        ("min", [Val::List(list)]) => extreme(list, "min", Ordering::Greater),
        ("max", [Val::List(list)]) => extreme(list, "max", Ordering::Less),
        ("indexOf", [Val::List(list), item]) => Ok(position(list, item, false)),
        ("lastIndexOf", [Val::List(list), item]) => Ok(position(list, item, true)),
        ("slice", [Val::List(list), Val::Int(start), Val::Int(end)]) => slice(list, *start, *end),
        ("flatten", [Val::List(list)]) => flatten(list, 1).map(Val::list),
        ("flatten", [Val::List(list), Val::Int(depth)]) if *depth >= 0 => {
            flatten(list, *depth).map(Val::list)
        }
        ("flatten", [Val::List(_), Val::Int(_)]) => EvalError::failed("level must be non-negative"),
        ("sort", [Val::List(list)]) => list.to_vec().and_then(|items| sort_by(items.clone(), items)),
        ("reverse", [Val::List(list)]) => {
            list.to_vec().map(|items| Val::list(items.into_iter().rev().collect()))
        }
        ("distinct", [Val::List(list)]) => distinct(evaluator, list),
        ("lists.range", [Val::Int(count)]) => {
            let count = usize::try_from(*count).unwrap_or_default();
            evaluator.charge(count).map(|()| Val::list((0..count).map(Val::size).collect()))
        }
        ("first", [Val::List(list)]) => end_of(list, 0),
        ("last", [Val::List(list)]) => end_of(list, list.len().wrapping_sub(1)),
        ("sets.contains", [Val::List(all), Val::List(part)]) => {
            evaluator.charge(all.len().saturating_mul(part.len())).and_then(|()| contains_all(all, part))
        }
        ("sets.equivalent", [Val::List(a), Val::List(b)]) => {
            evaluator.charge(a.len().saturating_mul(b.len())).and_then(|()| match contains_all(a, b) {
                Ok(Val::Bool(true)) => contains_all(b, a),
                other => other,
            })
        }
        ("sets.intersects", [Val::List(a), Val::List(b)]) => {
            evaluator.charge(a.len().saturating_mul(b.len())).and_then(|()| intersects(a, b))
        }
        _ => return None,
    })
}

fn is_sorted<'a>(list: &List<'a>) -> Eval<Val<'a>> {
    let items = list.to_vec()?;
    for pair in items.windows(2) {
        if let [a, b] = pair
            && compare(a, b)? == Some(Ordering::Greater)
        {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(list: &List<'a>) -> Eval<Val<'a>> {
    let items = list.to_vec()?;
    let zero = match items.first() {
        Some(Val::Double(_)) => Val::Double(0.0),
        Some(Val::Uint(_)) => Val::Uint(0),
        Some(Val::Duration(_)) => Val::Duration(0),
        _ => Val::Int(0),
    };
    items.into_iter().try_fold(zero, add)
}

fn extreme<'a>(list: &List<'a>, name: &str, replace_when: Ordering) -> Eval<Val<'a>> {
    let mut items = list.to_vec()?.into_iter();
    let Some(mut chosen) = items.next() else {
        return EvalError::failed(format!("{name} called on empty list"));
    };
    for candidate in items {
        if compare(&chosen, &candidate)? == Some(replace_when) {
            chosen = candidate;
        }
    }
    Ok(chosen)
}

fn position<'a>(list: &List<'a>, wanted: &Val<'a>, from_end: bool) -> Val<'a> {
    let mut found = list
        .iter()
        .enumerate()
        .filter(|(_, item)| matches!(item, Ok(value) if equal(value, wanted).unwrap_or_default()))
        .map(|(index, _)| index);
    let index = if from_end { found.last() } else { found.next() };
    index.map_or(Val::Int(-1), Val::size)
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Eval<Val<'a>> {
    match (usize::try_from(start), usize::try_from(end)) {
        (Ok(from), Ok(to)) if from <= to && to <= list.len() => {
            (from..to).map(|index| list.get(index)).collect::<Eval<Vec<_>>>().map(Val::list)
        }
        _ => EvalError::failed(format!("cannot slice({start}, {end})")),
    }
}

fn flatten<'a>(list: &List<'a>, depth: i64) -> Eval<Vec<Val<'a>>> {
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Val::List(inner) if depth > 0 => out.extend(flatten(&inner, depth - 1)?),
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Sorts items by keys of one comparable type.
pub(in crate::cel) fn sort_by<'a>(items: Vec<Val<'a>>, keys: Vec<Val<'a>>) -> Eval<Val<'a>> {
    if let Some(first) = keys.first() {
        compare(first, first)?;
        if keys.iter().any(|key| key.type_name() != first.type_name()) {
            return EvalError::failed("list elements must have the same type");
        }
    }
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn distinct<'a>(evaluator: &mut Evaluator<'a, '_>, list: &List<'a>) -> Eval<Val<'a>> {
    let mut unique: Vec<Val<'a>> = Vec::new();
    for item in list.iter() {
        let item = item?;
        evaluator.charge(unique.len())?;
        if !unique.iter().any(|other| equal(&item, other).unwrap_or_default()) {
            unique.push(item);
        }
    }
    Ok(Val::list(unique))
}

fn end_of<'a>(list: &List<'a>, index: usize) -> Eval<Val<'a>> {
    if list.len() == 0 { Ok(Val::Optional(None)) } else { list.get(index).map(Val::some) }
}

fn contains_all<'a>(all: &List<'a>, part: &List<'a>) -> Eval<Val<'a>> {
    for item in part.iter() {
        if !contains(all, &item?)? {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn intersects<'a>(a: &List<'a>, b: &List<'a>) -> Eval<Val<'a>> {
    for item in a.iter() {
        if contains(b, &item?).unwrap_or_default() {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}
