//! Size floors written for the wrong type, in schemas that are new.
//!
//! `minLength: 1` on a list is accepted and ignored by the API server. Its author meant to refuse empty
//! lists; correcting it after release refuses objects that were fine until then. The time to notice is
//! before the release.

use serde_json::{Map, Value};

use super::draft::{Draft, Effect};
use super::walk::{Mode, Walk};
use crate::path::Step;
use crate::rules;
use crate::schema::MAX_DEPTH;

/// The size keyword of each type.
const FLOORS: [(&str, &str, &str); 3] =
    [("string", "minLength", "text"), ("array", "minItems", "list"), ("object", "minProperties", "object")];

/// Drafts a finding for every misplaced floor in a schema that is new, `path` being at the schema.
pub(super) fn inspect<'a>(walk: &mut Walk<'a>, schema: &'a Map<String, Value>, depth: usize) {
    if depth > MAX_DEPTH || walk.mode == Mode::Values {
        return;
    }
    floor(walk, &Map::new(), schema);
    if let Some(Value::Object(fields)) = schema.get("properties") {
        for (name, field) in fields {
            beneath(walk, Step::Field(name), field, depth);
        }
    }
    for (key, step) in [("items", Step::Items), ("additionalProperties", Step::Values)] {
        if let Some(inner) = schema.get(key) {
            beneath(walk, step, inner, depth);
        }
    }
}

fn beneath<'a>(walk: &mut Walk<'a>, step: Step<'a>, schema: &'a Value, depth: usize) {
    if let Value::Object(schema) = schema {
        walk.path.push(step);
        inspect(walk, schema, depth + 1);
        walk.path.pop();
    }
}

/// Drafts a finding for a misplaced floor that `new` has and `old` has not.
pub(super) fn floor<'a>(walk: &mut Walk<'a>, old: &Map<String, Value>, new: &'a Map<String, Value>) {
    let Some(own) = new.get("type").and_then(Value::as_str) else { return };
    let Some((_, right, called)) = FLOORS.into_iter().find(|(type_, _, _)| *type_ == own) else { return };
    for (_, wrong, _) in FLOORS.into_iter().filter(|(type_, _, _)| *type_ != own) {
        let Some(size) = new.get(wrong).filter(|size| size.as_u64().is_some_and(|size| size > 0)) else {
            continue;
        };
        if old.get(wrong) == Some(size) {
            continue;
        }
        let draft = Draft::new(
            &rules::MISPLACED_SIZE_FLOOR,
            format!("says {wrong}: {size}, which no {called} obeys"),
        )
        .values(old.get(wrong).cloned(), Some(size.clone()))
        .follows(format!(
            "the API server ignores it; {right} was most likely meant, and putting that right after \
                 release refuses what is written until then"
        ))
        .effect(Effect::None);
        walk.push(draft);
    }
}
