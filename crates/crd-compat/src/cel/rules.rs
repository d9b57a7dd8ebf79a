//! The rules of a schema, and running them on an object.

use std::sync::OnceLock;

use serde_json::Value as Json;

use super::ast::{Expr, Macro};
use super::data::typed;
use super::eval::Evaluator;
use super::parse::parse;
use super::regexes::Regexes;
use super::value::{EvalError, Val};
use super::{SyntaxError, reported_path};
use crate::admit::Findings;
use crate::admit::path::FieldPath;
use crate::schema::{Schema, SchemaType, ValidationRule};

/// Longest message an expression may give, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// Every rule of a schema; parsed when first run.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    root: Option<Node>,
    regexes: Regexes,
}

/// The rules at one place of the schema and below.
#[derive(Debug, Default)]
struct Node {
    rules: Vec<Rule>,
    all_of: Vec<Node>,
    properties: Vec<(String, Node)>,
    items: Option<Box<Node>>,
    values: Option<Box<Node>>,
}

#[derive(Debug)]
struct Rule {
    source: ValidationRule,
    program: OnceLock<Result<Program, SyntaxError>>,
    message: OnceLock<Result<Program, SyntaxError>>,
}

#[derive(Debug)]
struct Program {
    expr: Expr,
    uses_old_self: bool,
}

impl Program {
    fn parse(source: &str) -> Result<Program, SyntaxError> {
        let expr = parse(source)?;
        Ok(Program { uses_old_self: mentions(&expr, "oldSelf"), expr })
    }
}

impl Rules {
    pub(crate) fn of(schema: &Schema) -> Rules {
        // The API server looks for rules along properties, items and map values. Finding none, it does not
        // look into allOf either.
        let root = has_rules(schema).then(|| Node::of(schema, schema)).flatten();
        Rules { root, regexes: Regexes::default() }
    }

    /// Runs every rule as a create does.
    pub(crate) fn check(&self, object: &Json, schema: &Schema, out: &mut Findings) {
        if let Some(root) = &self.root {
            let mut run = Run { regexes: &self.regexes, path: FieldPath::default(), out };
            run.node(root, object, None, schema, true);
        }
    }

    /// Runs the rules a write of the status can break: those on the object as a whole, and on the status.
    pub(crate) fn check_status(&self, object: &Json, old: &Json, schema: &Schema, out: &mut Findings) {
        let Some(root) = &self.root else { return };
        let mut run = Run { regexes: &self.regexes, path: FieldPath::default(), out };
        run.expressions(root, object, Some(old), schema, true);
        let status = root.properties.iter().find(|(name, _)| name == "status");
        if let (Some((_, node)), Some(value), Some(schema)) =
            (status, object.get("status"), schema.properties.get("status"))
        {
            run.path.push_key("status");
            run.node(node, value, None, schema, schema.embedded_resource);
        }
    }
}

fn has_rules(schema: &Schema) -> bool {
    !schema.validations.is_empty()
        || schema.items.as_deref().is_some_and(has_rules)
        || schema.value_schema().is_some_and(has_rules)
        || schema.properties.iter().any(|(_, property)| has_rules(property))
}

/// Whether CEL has a type for values of this schema.
fn is_typed(schema: &Schema) -> bool {
    match schema.type_ {
        _ if schema.int_or_string => true,
        Some(SchemaType::Array) => schema.items.as_deref().is_some_and(is_typed),
        Some(SchemaType::Object) => schema.value_schema().is_none_or(is_typed),
        Some(_) => true,
        None => false,
    }
}

impl Node {
    /// The rules of `rules`, which apply to values of `schema`: the same, or one of its allOf.
    fn of(rules: &Schema, schema: &Schema) -> Option<Node> {
        let node = Node {
            rules: rules.validations.iter().map(Rule::of).collect(),
            all_of: rules.all_of.iter().filter_map(|nested| Node::of(nested, schema)).collect(),
            properties: rules
                .properties
                .iter()
                .filter_map(|(name, property)| {
                    let schema = schema.properties.get(name)?;
                    let node = Node::of(property, schema)?;
                    is_typed(schema).then(|| (name.to_owned(), node))
                })
                .collect(),
            items: match (rules.items.as_deref(), schema.items.as_deref()) {
                (Some(rules), Some(schema)) => Node::of(rules, schema).map(Box::new),
                _ => None,
            },
            values: match (rules.value_schema(), schema.value_schema()) {
                (Some(rules), Some(schema)) => Node::of(rules, schema).map(Box::new),
                _ => None,
            },
        };
        let empty = node.rules.is_empty()
            && node.all_of.is_empty()
            && node.properties.is_empty()
            && node.items.is_none()
            && node.values.is_none();
        (!empty).then_some(node)
    }
}

impl Rule {
    fn of(source: &ValidationRule) -> Rule {
        Rule { source: source.clone(), program: OnceLock::new(), message: OnceLock::new() }
    }

    /// What the API server calls the rule in messages.
    fn name(&self) -> &str {
        match self.source.message.as_deref().map(str::trim) {
            Some(message) if !message.is_empty() => message,
            _ => self.source.rule.trim(),
        }
    }
}

struct Run<'r> {
    regexes: &'r Regexes,
    path: FieldPath,
    out: &'r mut Findings,
}

impl Run<'_> {
    fn node(&mut self, node: &Node, value: &Json, old: Option<&Json>, schema: &Schema, resource: bool) {
        if value.is_null() {
            return;
        }
        self.expressions(node, value, old, schema, resource);
        for nested in &node.all_of {
            self.node(nested, value, old, schema, resource);
        }
        match value {
            Json::Array(items) => {
                let (Some(node), Some(schema)) = (&node.items, schema.items.as_deref()) else { return };
                for (index, item) in items.iter().enumerate() {
                    let mark = self.path.push_index(index);
                    self.node(node, item, None, schema, schema.embedded_resource);
                    self.path.cut(mark);
                }
            }
            Json::Object(map) => {
                if let (Some(node), Some(schema)) = (&node.values, schema.value_schema()) {
                    for (key, value) in map {
                        let mark = self.path.push_map_key(key);
                        self.node(node, value, None, schema, schema.embedded_resource);
                        self.path.cut(mark);
                    }
                }
                for (name, node) in &node.properties {
                    if let (Some(value), Some(schema)) = (map.get(name), schema.properties.get(name)) {
                        let mark = self.path.push_key(name);
                        self.node(node, value, None, schema, schema.embedded_resource);
                        self.path.cut(mark);
                    }
                }
            }
            _ => {}
        }
    }

    /// Rules on the value itself.
    fn expressions(
        &mut self,
        node: &Node,
        value: &Json,
        old: Option<&Json>,
        schema: &Schema,
        resource: bool,
    ) {
        for rule in &node.rules {
            self.rule(rule, value, old, schema, resource);
        }
    }

    fn rule(&mut self, rule: &Rule, value: &Json, old: Option<&Json>, schema: &Schema, resource: bool) {
        if rule.source.rule.trim().is_empty() {
            return;
        }
        let program = match rule.program.get_or_init(|| Program::parse(&rule.source.rule)) {
            Ok(program) => program,
            Err(error) => {
                let reason = format!("the rule {:?} cannot be parsed here: {error}", rule.source.rule.trim());
                return self.out.unsure(&self.path, &reason);
            }
        };
        let optional = rule.source.optional_old_self;
        if program.uses_old_self && old.is_none() && !optional {
            return;
        }
        let run = |program: &Program| {
            let mut evaluator = Evaluator::new(self.regexes);
            evaluator.bind("self", typed(value, schema, resource));
            if program.uses_old_self {
                let old = old.map(|old| typed(old, schema, resource)).transpose();
                evaluator.bind(
                    "oldSelf",
                    match (old, optional) {
                        (Ok(old), true) => Ok(Val::Optional(old.map(std::rc::Rc::new))),
                        (Ok(Some(old)), false) => Ok(old),
                        (Ok(None), false) => EvalError::failed("no such attribute: oldSelf"),
                        (Err(error), _) => Err(error),
                    },
                );
            }
            evaluator.eval(&program.expr)
        };
        let result = run(program);
        let type_ = schema.type_.map(SchemaType::as_str).unwrap_or_default();
        match result {
            Ok(Val::Bool(true)) => {}
            Ok(Val::Bool(false)) => {
                let message = rule.message(run);
                self.fail(rule, value, schema, &message);
            }
            Ok(_) => {
                let reason = format!("the rule {:?} does not give a boolean here", rule.source.rule.trim());
                self.out.unsure(&self.path, &reason);
            }
            Err(EvalError::Failed(error)) => {
                let message = format!("Invalid value: {type_:?}: {error} evaluating rule: {}", rule.name());
                self.out.violate(&self.path, "cel", message);
            }
            Err(EvalError::Unsupported(reason)) => {
                let reason = format!("{reason} (in the rule {:?})", rule.source.rule.trim());
                self.out.unsure(&self.path, &reason);
            }
            Err(EvalError::TooCostly) => {
                let reason = format!("the rule {:?} is too costly to evaluate here", rule.source.rule.trim());
                self.out.unsure(&self.path, &reason);
            }
        }
    }

    fn fail(&mut self, rule: &Rule, value: &Json, schema: &Schema, detail: &str) {
        let compound = matches!(schema.type_, Some(SchemaType::Object | SchemaType::Array));
        let message = match rule.source.reason.as_deref() {
            Some("FieldValueForbidden") => format!("Forbidden: {detail}"),
            Some("FieldValueRequired") => format!("Required value: {detail}"),
            Some("FieldValueDuplicate") if compound => "Duplicate value".to_owned(),
            Some("FieldValueDuplicate") => format!("Duplicate value: {value}"),
            _ if compound => format!("Invalid value: {detail}"),
            _ => format!("Invalid value: {value}: {detail}"),
        };
        let below = rule.source.field_path.as_deref().and_then(|path| reported_path::normalize(path, schema));
        match below.filter(|below| !below.is_empty()) {
            Some(below) => self.out.violate_at(self.path.child(&below), "cel", message),
            None => self.out.violate(&self.path, "cel", message),
        }
    }
}

impl Rule {
    /// The message for a rule that does not hold: that of its expression where it gives one, else the fixed one.
    fn message<'a>(&self, run: impl Fn(&Program) -> Result<Val<'a>, EvalError>) -> String {
        let expression = self.source.message_expression.as_deref().filter(|source| !source.is_empty());
        let program =
            expression.and_then(|source| self.message.get_or_init(|| Program::parse(source)).as_ref().ok());
        if let Some(Ok(Val::Text(text))) = program.map(run) {
            let text = text.trim();
            if !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n') {
                return text.to_owned();
            }
        }
        match self.source.message.as_deref() {
            Some(message) if !message.is_empty() => message.trim().to_owned(),
            _ => format!("failed rule: {}", self.name()),
        }
    }
}

/// Whether an expression names a variable.
fn mentions(expr: &Expr, name: &str) -> bool {
    let any = |exprs: &[Expr]| exprs.iter().any(|expr| mentions(expr, name));
    match expr {
        Expr::Ident(found) => found == name,
        Expr::Select { operand, .. } | Expr::Has { operand, .. } => mentions(operand, name),
        Expr::Index { operand, index, .. } => mentions(operand, name) || mentions(index, name),
        Expr::Call { args, .. } => any(args),
        Expr::List(entries) => entries.iter().any(|entry| mentions(&entry.expr, name)),
        Expr::Map(entries) => {
            entries.iter().any(|(key, value)| mentions(&key.expr, name) || mentions(value, name))
        }
        Expr::Not(inner) | Expr::Negate(inner) => mentions(inner, name),
        Expr::And(terms) | Expr::Or(terms) => any(terms),
        Expr::Conditional(parts) => any(parts.as_slice()),
        Expr::Binary(_, operands) => any(operands.as_slice()),
        Expr::Macro(node) => {
            let Macro { range, filter, body, .. } = node.as_ref();
            mentions(range, name)
                || mentions(body, name)
                || filter.as_ref().is_some_and(|filter| mentions(filter, name))
        }
        Expr::Null
        | Expr::Bool(_)
        | Expr::Int(_)
        | Expr::Uint(_)
        | Expr::Double(_)
        | Expr::Text(_)
        | Expr::Bytes(_) => false,
    }
}
