//! Regular expressions.

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

pub(super) fn call<'a>(
    evaluator: &mut Evaluator<'a, '_>,
    name: &str,
    args: &[Val<'a>],
) -> Option<Eval<Val<'a>>> {
    let (text, source, limit) = match (name, args) {
        ("matches" | "find" | "findAll", [Val::Text(text), Val::Text(source)]) => (text, source, usize::MAX),
        ("findAll", [Val::Text(text), Val::Text(source), Val::Int(limit)]) => {
            (text, source, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return None,
    };
    let work = (text.len() / 10 + 1).saturating_mul(source.len() / 4 + 1);
    if let Err(error) = evaluator.charge(work) {
        return Some(Err(error));
    }
    let regex = match evaluator.regexes.get(source) {
        Ok(regex) => regex,
        Err(reason) => return Some(Err(EvalError::Unsupported(reason))),
    };
    Some(Ok(match name {
        "matches" => Val::Bool(regex.is_match(text)),
        "find" => Val::text(regex.find(text).map(|found| found.as_str()).unwrap_or_default()),
        _ => Val::list(regex.find_iter(text).take(limit).map(|found| Val::text(found.as_str())).collect()),
    }))
}
