//! Types, null and defaults.

use serde_json::Value;

use super::draft::{Draft, Effect, Probe};
use super::walk::{Mode, Place, Walk};
use crate::domain::Search;
use crate::domain::number::Numbers;
use crate::finding::Severity;
use crate::node::{Facts, Kinds, Node, kind_of_value};
use crate::rules;

impl<'a> Walk<'a> {
    /// Compares types; false when what lies beneath has nothing in common.
    pub(super) fn kinds(
        &mut self,
        old: &Node<'a>,
        new: &Node<'a>,
        before: &Facts<'a>,
        after: &Facts<'a>,
    ) -> bool {
        if before.kinds == after.kinds {
            return true;
        }
        let (was, is) = (old.type_name(), new.type_name());
        let names = || (Some(Value::from(was)), Some(Value::from(is)));
        let lost = before.kinds.without(after.kinds);
        let gained = after.kinds.without(before.kinds);
        if lost.is_empty() {
            let (was_value, is_value) = names();
            let draft = Draft::new(&rules::TYPE_WIDENED, format!("was {was} and may now be {is}"))
                .values(was_value, is_value)
                .follows("what was written stays valid, but older readers do not expect the rest")
                .effect(Effect::Surprise);
            // Checks inside a condition are read by nobody.
            if self.mode == Mode::Structure {
                self.push(draft);
            }
            return true;
        }
        let (was_value, is_value) = names();
        let draft = Draft::new(&rules::TYPE_CHANGED, format!("was {was} and is now {is}"))
            .values(was_value, is_value)
            .follows(format!("a value of type {was} is refused"))
            .effect(Effect::Refused)
            .probe(Probe::Kinds(lost));
        let draft = if gained.is_empty() && still_fits(before, lost) {
            draft.harmless("every value that was allowed is of the new type too")
        } else {
            draft
        };
        self.push(draft);
        before.kinds.has(after.kinds)
    }

    pub(super) fn nullable(&mut self, old: &Node<'a>, new: &Node<'a>, place: Place) {
        let draft = match (old.flag("nullable"), new.flag("nullable")) {
            (false, true) => {
                let severity = if self.path.in_status() { Severity::Risky } else { Severity::Safe };
                Draft::new(&rules::NULLABLE_ADDED, "may now be null")
                    .severity(severity)
                    .effect(Effect::Surprise)
                    .follows("what was written stays valid")
            }
            (true, false) => nullable_removed(new, place),
            _ => return,
        };
        self.push(draft);
    }

    pub(super) fn default(&mut self, old: &Node<'a>, new: &Node<'a>, place: Place) {
        let draft = match (old.default(), new.default()) {
            (None, Some(default)) => {
                Draft::new(&rules::DEFAULT_ADDED, format!("is now {default} by default"))
                    .follows("objects that leave it out are read, and then stored, with that value")
                    .effect(Effect::Reinterpreted)
                    .unless_refused(Probe::Absent)
            }
            (Some(default), None) if place == (Place::Required { before: true }) => {
                Draft::new(&rules::DEFAULT_REMOVED, format!("is required and no longer {default} by default"))
                    .severity(Severity::Breaking)
                    .follows("an object without it is refused")
                    .effect(Effect::RefusedBeside)
                    .probe(Probe::Absent)
            }
            (Some(default), None) => {
                Draft::new(&rules::DEFAULT_REMOVED, format!("is no longer {default} by default"))
                    .follows("objects that leave it out are no longer filled in")
                    .effect(Effect::Reinterpreted)
            }
            (Some(was), Some(is)) if was != is => {
                Draft::new(&rules::DEFAULT_CHANGED, format!("was {was} by default and is now {is}"))
                    .follows("new objects get the new value, existing ones keep what they were given")
                    .effect(Effect::Reinterpreted)
            }
            _ => return,
        };
        self.push(draft.values(old.default().cloned(), new.default().cloned()));
    }
}

/// What becomes of a null depends on where it stands: tried on an API server.
fn nullable_removed<'a>(new: &Node<'a>, place: Place) -> Draft<'a> {
    let draft = Draft::new(&rules::NULLABLE_REMOVED, "may no longer be null");
    match place {
        Place::Item => draft
            .severity(Severity::Breaking)
            .follows("a list that holds null is refused")
            .effect(Effect::Refused)
            .probe(Probe::Exactly(vec![Value::Null])),
        Place::Entry => draft
            .severity(Severity::Breaking)
            .follows("a key whose value is null is silently dropped")
            .effect(Effect::Lost)
            .probe(Probe::Exactly(vec![Value::Null])),
        Place::Required { .. } if new.default().is_none() => draft
            .severity(Severity::Breaking)
            .follows("a null is dropped, and the object then refused because the field is missing")
            .effect(Effect::RefusedBeside)
            .probe(Probe::Exactly(vec![Value::Null])),
        _ if new.default().is_some() => draft
            .follows("a null is replaced by the default")
            .effect(Effect::Reinterpreted)
            .unless_refused(Probe::Exactly(vec![Value::Null])),
        _ => draft
            .follows("a null is silently dropped")
            .effect(Effect::Reinterpreted)
            .unless_refused(Probe::Exactly(vec![Value::Null])),
    }
}

/// Whether no value of the lost kinds was allowed anyway.
fn still_fits(before: &Facts<'_>, lost: Kinds) -> bool {
    if let Some(allowed) = &before.allowed {
        return !allowed.iter().any(|value| kind_of_value(value).is_some_and(|kind| lost.has(kind)));
    }
    lost == Kinds::FRACTION && Numbers::of(before).not_multiple_of(1.0) == Search::Impossible
}
