//! Values a CEL rule is likely to refuse: those it speaks of, their neighbours, and their absence.

use serde_json::{Map, Value};

use super::candidates::any;
use super::sample::Sampler;
use crate::compare::implication::words;
use crate::domain::number::to_value;
use crate::node::{Kinds, Node};
use crate::path::Step;

/// Objects tried for one rule.
const MAX_CANDIDATES: usize = 120;

/// Values that are tried for one field.
const MAX_PER_FIELD: usize = 14;

/// Values a rule about `node` is likely to refuse.
pub(super) fn candidates(sampler: Sampler, node: &Node<'_>, rule: &str) -> Vec<Value> {
    let words = words(rule);
    let literals = Literals::of(&words);
    let mut out = literals.around(sampler, node);
    if node.facts().kinds.has(Kinds::OBJECT)
        && let Some(Value::Object(base)) = sampler.kind(node, Kinds::OBJECT)
    {
        let fields = mentioned(&words, node);
        out.splice(0..0, variations(sampler, node, &base, &fields, &literals));
    }
    out.truncate(MAX_CANDIDATES);
    out
}

/// Numbers and texts that occur in a rule.
#[derive(Debug, Default)]
struct Literals {
    numbers: Vec<f64>,
    texts: Vec<String>,
}

impl Literals {
    fn of(words: &[String]) -> Literals {
        let mut literals = Literals::default();
        for word in words {
            if let Ok(number) = word.trim_end_matches('u').parse::<f64>() {
                literals.numbers.push(number);
            } else if let Some(text) = word.strip_prefix(['\'', '"']) {
                literals.texts.push(text.trim_end_matches(['\'', '"']).to_owned());
            }
        }
        literals
    }

    /// Values of a place on either side of what the rule says.
    fn around(&self, sampler: Sampler, node: &Node<'_>) -> Vec<Value> {
        let kinds = node.facts().kinds;
        let mut out = any(sampler, node);
        if kinds.has(Kinds::INTEGER) {
            for number in &self.numbers {
                out.extend([number + 1.0, number - 1.0, *number].map(to_value));
            }
            out.extend([0.0, 1.0, -1.0, 100_000.0].map(to_value));
        }
        if kinds.has(Kinds::STRING) {
            out.extend(self.texts.iter().map(|text| Value::from(text.as_str())));
            out.extend(self.lengths().map(|length| Value::from("a".repeat(length))));
            out.extend(["", "0", "A", "a b", "/", "-"].map(Value::from));
        }
        if kinds.has(Kinds::ARRAY) {
            let lengths = self.lengths().chain([0, 1, 2]).filter_map(|length| u64::try_from(length).ok());
            out.extend(lengths.filter_map(|length| sampler.list(node, length, 20)));
        }
        if kinds.has(Kinds::BOOLEAN) {
            out.extend([Value::Bool(true), Value::Bool(false)]);
        }
        let mut seen: Vec<Value> = Vec::new();
        for value in out {
            if !seen.contains(&value) && seen.len() < MAX_PER_FIELD {
                seen.push(value);
            }
        }
        seen
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=300")]
        self.numbers
            .iter()
            .filter(|number| (0.0..=300.0).contains(*number))
            .flat_map(|number| [*number as usize + 1, (*number as usize).saturating_sub(1)])
    }
}

/// Chains of fields behind `self` that the schema knows.
fn mentioned<'w>(words: &'w [String], node: &Node<'_>) -> Vec<Vec<&'w str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    for (start, _) in words.iter().enumerate().filter(|(_, word)| *word == "self") {
        let mut chain = Vec::new();
        let mut at = node.clone();
        let mut rest = words.get(start + 1..).unwrap_or_default();
        while let [dot, name, after @ ..] = rest
            && (dot == "." || dot == ".?")
            && let Some(next) = at.step(Step::Field(name))
        {
            chain.push(name.as_str());
            at = next;
            rest = after;
        }
        if !chain.is_empty() && !found.contains(&chain) && found.len() < 6 {
            found.push(chain);
        }
    }
    found
}

/// Objects in which the fields a rule speaks of take different values, one and two at a time.
fn variations(
    sampler: Sampler,
    node: &Node<'_>,
    base: &Map<String, Value>,
    fields: &[Vec<&str>],
    literals: &Literals,
) -> Vec<Value> {
    let mut out = vec![Value::Object(base.clone())];
    let mut singles: Vec<(usize, Value)> = Vec::new();
    for (index, chain) in fields.iter().enumerate() {
        let mut at = Some(node.clone());
        for name in chain {
            at = at.and_then(|node| node.step(Step::Field(name)));
        }
        let Some(leaf) = at else { continue };
        for value in literals.around(sampler, &leaf) {
            singles.push((index, value));
        }
    }
    for (index, value) in &singles {
        out.extend(fields.get(*index).and_then(|chain| put(sampler, node, base, chain, value)));
    }
    for (place, (index, value)) in singles.iter().enumerate() {
        for (other, second) in singles.iter().skip(place + 1).filter(|(other, _)| other != index) {
            if out.len() >= MAX_CANDIDATES {
                return out;
            }
            let first = fields.get(*index).and_then(|chain| put(sampler, node, base, chain, value));
            if let Some(Value::Object(first)) = first {
                out.extend(fields.get(*other).and_then(|chain| put(sampler, node, &first, chain, second)));
            }
        }
    }
    out
}

/// The object with a value at the end of a chain of fields, what lies between being filled in.
fn put(
    sampler: Sampler,
    node: &Node<'_>,
    object: &Map<String, Value>,
    chain: &[&str],
    value: &Value,
) -> Option<Value> {
    let (first, rest) = chain.split_first()?;
    let mut object = object.clone();
    if rest.is_empty() {
        object.insert((*first).to_owned(), value.clone());
        return Some(Value::Object(object));
    }
    let child = node.step(Step::Field(first))?;
    let inner = match object.get(*first) {
        Some(Value::Object(inner)) => inner.clone(),
        _ => match sampler.kind(&child, Kinds::OBJECT)? {
            Value::Object(inner) => inner,
            _ => return None,
        },
    };
    let inner = put(sampler, &child, &inner, rest, value)?;
    object.insert((*first).to_owned(), inner);
    Some(Value::Object(object))
}
