//! Evaluation of an expression.

use std::rc::Rc;

use super::ast::{Entry, Expr};
use super::library;
use super::operator;
use super::regexes::Regexes;
use super::value::{Eval, EvalError, Map, Val};

/// What one evaluation may take. The API server counts differently, but gives up in the same region.
const BUDGET: u64 = 400_000;

/// The state of one evaluation: variables, and what is left of the budget.
pub(super) struct Evaluator<'a, 'e> {
    variables: Vec<(&'e str, Eval<Val<'a>>)>,
    left: u64,
    pub(super) regexes: &'e Regexes,
}

impl<'a, 'e> Evaluator<'a, 'e> {
    pub(super) fn new(regexes: &'e Regexes) -> Evaluator<'a, 'e> {
        Evaluator { variables: Vec::new(), left: BUDGET, regexes }
    }

    /// Binds a variable; inner bindings hide outer ones.
    pub(super) fn bind(&mut self, name: &'e str, value: Eval<Val<'a>>) {
        self.variables.push((name, value));
    }

    pub(super) fn unbind(&mut self, count: usize) {
        self.variables.truncate(self.variables.len().saturating_sub(count));
    }

    /// Takes from the budget; the work is about `steps` operations.
    pub(super) fn charge(&mut self, steps: usize) -> Eval<()> {
        let left = self.left.checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.left = left.unwrap_or_default();
        if left.is_some() { Ok(()) } else { Err(EvalError::TooCostly) }
    }

    pub(super) fn eval(&mut self, expr: &'e Expr) -> Eval<Val<'a>> {
        self.charge(1)?;
        match expr {
            Expr::Null => Ok(Val::Null),
            Expr::Bool(value) => Ok(Val::Bool(*value)),
            Expr::Int(value) => Ok(Val::Int(*value)),
            Expr::Uint(value) => Ok(Val::Uint(*value)),
            Expr::Double(value) => Ok(Val::Double(*value)),
            Expr::Text(value) => Ok(Val::text(value.as_str())),
            Expr::Bytes(value) => Ok(Val::Bytes(value.as_slice().into())),
            Expr::Ident(name) => self.ident(name),
            Expr::Select { operand, field, optional } => self.select(expr, operand, field, *optional),
            Expr::Has { operand, field } => {
                let operand = self.eval(operand)?;
                has(&operand, field).map(Val::Bool)
            }
            Expr::Index { operand, index, optional } => self.index(operand, index, *optional),
            Expr::Call { function, args } => self.call(function, args),
            Expr::List(entries) => self.list(entries),
            Expr::Map(entries) => self.map(entries),
            Expr::Not(inner) => match self.eval(inner)? {
                Val::Bool(value) => Ok(Val::Bool(!value)),
                _ => EvalError::no_such_overload(),
            },
            Expr::Negate(inner) => self.negate(inner),
            Expr::And(terms) => self.junction(terms, false),
            Expr::Or(terms) => self.junction(terms, true),
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                match self.eval(condition)? {
                    Val::Bool(true) => self.eval(then),
                    Val::Bool(false) => self.eval(otherwise),
                    _ => EvalError::no_such_overload(),
                }
            }
            Expr::Binary(operator, operands) => {
                let [left, right] = operands.as_ref();
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.charge(weight(&left).min(weight(&right)))?;
                operator::apply(*operator, left, right)
            }
            Expr::Macro(node) => self.comprehension(node),
        }
    }

    fn ident(&self, name: &str) -> Eval<Val<'a>> {
        if let Some((_, value)) = self.variables.iter().rev().find(|(bound, _)| *bound == name) {
            return value.clone();
        }
        library::type_named(name)
            .map(Val::Type)
            .ok_or_else(|| EvalError::Unsupported(format!("the variable {name} is not known here")))
    }

    fn select(&mut self, whole: &'e Expr, operand: &'e Expr, field: &str, optional: bool) -> Eval<Val<'a>> {
        if let Some(name) = qualified(whole)
            && !self.variables.iter().any(|(bound, _)| name.split('.').next() == Some(*bound))
            && let Some(name) = library::type_named(&name)
        {
            return Ok(Val::Type(name));
        }
        let operand = self.eval(operand)?;
        access(&operand, &Val::text(field), optional)
    }

    fn index(&mut self, operand: &'e Expr, index: &'e Expr, optional: bool) -> Eval<Val<'a>> {
        let operand = self.eval(operand)?;
        let index = self.eval(index)?;
        access(&operand, &index, optional)
    }

    fn call(&mut self, function: &str, args: &'e [Expr]) -> Eval<Val<'a>> {
        // An optional that has a value does not look at the alternative.
        if let ("or" | "orValue", [target, alternative]) = (function, args) {
            return match self.eval(target)? {
                Val::Optional(None) => self.eval(alternative),
                Val::Optional(Some(value)) if function == "orValue" => Ok(value.as_ref().clone()),
                some @ Val::Optional(Some(_)) => Ok(some),
                _ => EvalError::no_such_overload(),
            };
        }
        let args = args.iter().map(|arg| self.eval(arg)).collect::<Eval<Vec<_>>>()?;
        self.charge(args.iter().map(weight).sum())?;
        library::call(self, function, &args)
    }

    fn list(&mut self, entries: &'e [Entry]) -> Eval<Val<'a>> {
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            match (self.eval(&entry.expr)?, entry.optional) {
                (Val::Optional(value), true) => items.extend(value.map(|value| value.as_ref().clone())),
                (_, true) => return EvalError::no_such_overload(),
                (value, false) => items.push(value),
            }
        }
        Ok(Val::list(items))
    }

    fn map(&mut self, entries: &'e [(Entry, Expr)]) -> Eval<Val<'a>> {
        let mut items: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let optional = key.optional;
            let key = self.eval(&key.expr)?;
            let value = match (self.eval(value)?, optional) {
                (Val::Optional(Some(value)), true) => value.as_ref().clone(),
                (Val::Optional(None), true) => continue,
                (_, true) => return EvalError::no_such_overload(),
                (value, false) => value,
            };
            for (other, _) in &items {
                if operator::equal(other, &key)? {
                    return EvalError::failed("Failed with repeated key");
                }
            }
            items.push((key, value));
        }
        Ok(Val::Map(Map::Owned(items.into())))
    }

    fn negate(&mut self, inner: &'e Expr) -> Eval<Val<'a>> {
        let overflow = || EvalError::failed("integer overflow");
        match self.eval(inner)? {
            Val::Int(value) => value.checked_neg().map(Val::Int).map_or_else(overflow, Ok),
            Val::Double(value) => Ok(Val::Double(-value)),
            _ => EvalError::no_such_overload(),
        }
    }

    /// `&&` and `||`: a term that decides makes up for errors in the others, before or after it.
    fn junction(&mut self, terms: &'e [Expr], deciding: bool) -> Eval<Val<'a>> {
        let mut error: Option<EvalError> = None;
        for term in terms {
            let found = match self.eval(term) {
                Ok(Val::Bool(value)) if value == deciding => return Ok(Val::Bool(deciding)),
                Ok(Val::Bool(_)) => continue,
                Ok(_) => EvalError::Failed("no such overload".to_owned()),
                Err(EvalError::TooCostly) => return Err(EvalError::TooCostly),
                Err(found) => found,
            };
            error = Some(match error {
                Some(error) => error.or(found),
                None => found,
            });
        }
        error.map_or(Ok(Val::Bool(!deciding)), Err)
    }
}

/// How much there is to walk through in a value.
fn weight(value: &Val<'_>) -> usize {
    match value {
        Val::Text(text) => text.len() / 10,
        Val::Bytes(bytes) => bytes.len() / 10,
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        _ => 0,
    }
}

/// The dotted name an expression may be, such as `google.protobuf.Timestamp`.
fn qualified(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select { operand, field, optional: false } => Some(format!("{}.{field}", qualified(operand)?)),
        _ => None,
    }
}

/// A field, key or item. Behind an optional, the result is one too.
fn access<'a>(operand: &Val<'a>, key: &Val<'a>, optional: bool) -> Eval<Val<'a>> {
    match operand {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => Ok(Val::Optional(find(inner, key)?.map(Rc::new))),
        operand if optional => Ok(Val::Optional(find(operand, key)?.map(Rc::new))),
        operand => match find(operand, key)? {
            Some(value) => Ok(value),
            None => match (operand, key) {
                (Val::List(_), Val::Int(index)) => EvalError::failed(format!("index out of bounds: {index}")),
                (_, Val::Text(key)) => EvalError::failed(format!("no such key: {key}")),
                (_, key) => EvalError::failed(format!("no such key: {key:?}")),
            },
        },
    }
}

fn find<'a>(operand: &Val<'a>, key: &Val<'a>) -> Eval<Option<Val<'a>>> {
    match (operand, key) {
        (Val::Map(map), key) => map.find(key),
        (Val::List(list), key) => {
            let index = match key {
                Val::Int(index) => usize::try_from(*index).ok(),
                Val::Uint(index) => usize::try_from(*index).ok(),
                Val::Double(index) if index.fract() == 0.0 => {
                    usize::try_from(crate::admit::number::to_int(*index)).ok()
                }
                _ => return EvalError::failed("unsupported index type"),
            };
            match index.filter(|index| *index < list.len()) {
                Some(index) => list.get(index).map(Some),
                None => Ok(None),
            }
        }
        _ => EvalError::no_such_overload(),
    }
}

fn has(operand: &Val<'_>, field: &str) -> Eval<bool> {
    match operand {
        Val::Optional(None) => Ok(false),
        Val::Optional(Some(inner)) => has(inner, field),
        Val::Map(map) => Ok(map.find(&Val::text(field))?.is_some()),
        _ => EvalError::no_such_overload(),
    }
}
