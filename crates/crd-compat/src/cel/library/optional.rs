//! Optional values. `or` and `orValue` look at their alternative late, and are evaluated where calls are.

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, List, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) if value.is_zero() => Ok(Val::Optional(None)),
        ("optional.of" | "optional.ofNonZeroValue", [value]) => Ok(Val::some(value.clone())),
        ("hasValue", [Val::Optional(value)]) => Ok(Val::Bool(value.is_some())),
        ("value", [Val::Optional(Some(value))]) => Ok(value.as_ref().clone()),
        ("value", [Val::Optional(None)]) => EvalError::failed("optional.none() dereference"),
        ("optional.unwrap" | "unwrapOpt", [Val::List(list)]) => unwrap(list),
        _ => return None,
    })
}

fn unwrap<'a>(list: &List<'a>) -> Eval<Val<'a>> {
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Val::Optional(value) => out.extend(value.map(|value| value.as_ref().clone())),
            _ => return EvalError::no_such_overload(),
        }
    }
    Ok(Val::list(out))
}
