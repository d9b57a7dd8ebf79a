//! Macros that walk over lists and maps.

use std::rc::Rc;

use super::ast::{Expr, Macro, MacroKind};
use super::eval::Evaluator;
use super::library::lists;
use super::operator;
use super::value::{Eval, EvalError, Map, Val};

/// Key or index, and value, of one step.
struct Step<'a> {
    first: Eval<Val<'a>>,
    second: Option<Eval<Val<'a>>>,
}

impl<'a, 'e> Evaluator<'a, 'e> {
    pub(super) fn comprehension(&mut self, node: &'e Macro) -> Eval<Val<'a>> {
        let range = self.eval(&node.range)?;
        if let MacroKind::OptMap | MacroKind::OptFlatMap = node.kind {
            return self.on_optional(node, range);
        }
        let steps = steps(&range, node.second.is_some())?;
        self.charge(steps.len())?;
        match node.kind {
            MacroKind::All => self.quantify(node, steps, false),
            MacroKind::Exists => self.quantify(node, steps, true),
            MacroKind::ExistsOne => self.exists_one(node, steps),
            MacroKind::Filter => self.filter(node, steps),
            MacroKind::Map => self.transform(node, steps).map(Val::list),
            MacroKind::TransformMap | MacroKind::TransformMapEntry => self.transform_map(node, steps),
            MacroKind::SortBy => {
                let items = match &range {
                    Val::List(list) => list.to_vec()?,
                    _ => return EvalError::no_such_overload(),
                };
                let keys = self.transform(node, steps)?;
                self.charge(keys.len())?;
                lists::sort_by(items, keys)
            }
            MacroKind::OptMap | MacroKind::OptFlatMap => EvalError::no_such_overload(),
        }
    }

    fn on_optional(&mut self, node: &'e Macro, range: Val<'a>) -> Eval<Val<'a>> {
        let Val::Optional(value) = range else { return EvalError::no_such_overload() };
        let Some(value) = value else { return Ok(Val::Optional(None)) };
        self.bind(&node.first, Ok(value.as_ref().clone()));
        let result = self.eval(&node.body);
        self.unbind(1);
        match node.kind {
            MacroKind::OptMap => result.map(Val::some),
            _ => result,
        }
    }

    fn with(&mut self, node: &'e Macro, step: &Step<'a>, expr: &'e Expr) -> Eval<Val<'a>> {
        self.bind(&node.first, step.first.clone());
        let mut bound = 1;
        if let (Some(name), Some(value)) = (&node.second, &step.second) {
            self.bind(name, value.clone());
            bound += 1;
        }
        let result = self.eval(expr);
        self.unbind(bound);
        result
    }

    /// Whether the filter of the macro lets a step pass.
    fn passes(&mut self, node: &'e Macro, step: &Step<'a>) -> Eval<bool> {
        match &node.filter {
            None => Ok(true),
            Some(filter) => match self.with(node, step, filter)? {
                Val::Bool(passes) => Ok(passes),
                _ => EvalError::no_such_overload(),
            },
        }
    }

    /// `all` and `exists`: a deciding element makes up for errors in the others.
    fn quantify(&mut self, node: &'e Macro, steps: Vec<Step<'a>>, deciding: bool) -> Eval<Val<'a>> {
        let mut error: Option<EvalError> = None;
        for step in steps {
            let found = match self.with(node, &step, &node.body) {
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

    fn exists_one(&mut self, node: &'e Macro, steps: Vec<Step<'a>>) -> Eval<Val<'a>> {
        let mut count = 0_usize;
        for step in steps {
            match self.with(node, &step, &node.body)? {
                Val::Bool(found) => count += usize::from(found),
                _ => return EvalError::no_such_overload(),
            }
        }
        Ok(Val::Bool(count == 1))
    }

    fn filter(&mut self, node: &'e Macro, steps: Vec<Step<'a>>) -> Eval<Val<'a>> {
        let mut items = Vec::new();
        for step in steps {
            match self.with(node, &step, &node.body)? {
                Val::Bool(true) => items.push(step.first?),
                Val::Bool(false) => {}
                _ => return EvalError::no_such_overload(),
            }
        }
        Ok(Val::list(items))
    }

    fn transform(&mut self, node: &'e Macro, steps: Vec<Step<'a>>) -> Eval<Vec<Val<'a>>> {
        let mut items = Vec::new();
        for step in steps {
            if self.passes(node, &step)? {
                items.push(self.with(node, &step, &node.body)?);
            }
        }
        Ok(items)
    }

    fn transform_map(&mut self, node: &'e Macro, steps: Vec<Step<'a>>) -> Eval<Val<'a>> {
        let mut entries: Vec<(Val<'a>, Val<'a>)> = Vec::new();
        for step in steps {
            if !self.passes(node, &step)? {
                continue;
            }
            let value = self.with(node, &step, &node.body)?;
            if node.kind == MacroKind::TransformMap {
                entries.push((step.first?, value));
                continue;
            }
            let Val::Map(map) = value else { return EvalError::no_such_overload() };
            for key in map.keys() {
                self.charge(entries.len())?;
                for (other, _) in &entries {
                    if operator::equal(other, &key)? {
                        return EvalError::failed("insert failed: key already exists");
                    }
                }
                if let Some(value) = map.find(&key)? {
                    entries.push((key, value));
                }
            }
        }
        Ok(Val::Map(Map::Owned(Rc::from(entries))))
    }
}

fn steps<'a>(range: &Val<'a>, two: bool) -> Eval<Vec<Step<'a>>> {
    match range {
        Val::List(list) if two => Ok(list
            .iter()
            .enumerate()
            .map(|(index, item)| Step { first: Ok(Val::size(index)), second: Some(item) })
            .collect()),
        Val::List(list) => Ok(list.iter().map(|item| Step { first: item, second: None }).collect()),
        Val::Map(map) => Ok(map
            .keys()
            .into_iter()
            .map(|key| {
                let value = two.then(|| match map.find(&key) {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) => EvalError::failed("no such key"),
                    Err(error) => Err(error),
                });
                Step { first: Ok(key), second: value }
            })
            .collect()),
        _ => EvalError::no_such_overload(),
    }
}
