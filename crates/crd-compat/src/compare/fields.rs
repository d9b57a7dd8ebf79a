//! Which fields there are, which must be there, and what happens to those nobody named.

use serde_json::{Map, Value};

use super::draft::{Draft, Effect, Probe};
use super::walk::{Mode, Place, Walk};
use super::{misplaced, rename};
use crate::finding::Severity;
use crate::node::{EMPTY, Facts, Kinds, Node};
use crate::path::Step;
use crate::rules;

/// What an object does with fields it does not name.
#[derive(Debug, Clone)]
enum Others<'a> {
    /// Drops them.
    Pruned,
    /// Keeps them as they are.
    Kept,
    /// Keeps those whose values fit.
    Described(Node<'a>),
}

impl<'a> Others<'a> {
    fn of(node: &Node<'a>, mode: Mode) -> Others<'a> {
        match node.fragments().find_map(|fragment| fragment.get("additionalProperties")) {
            Some(Value::Object(_)) => node.step(Step::Values).map_or(Others::Kept, Others::Described),
            Some(Value::Bool(true)) => Others::Kept,
            _ if node.preserves_unknown() || mode == Mode::Values => Others::Kept,
            _ => Others::Pruned,
        }
    }
}

impl<'a> Walk<'a> {
    /// Compares what lies beneath.
    pub(super) fn structure(&mut self, old: &Node<'a>, new: &Node<'a>) {
        self.items(old, new);
        let (before, after) = (old.properties().unwrap_or(&EMPTY), new.properties().unwrap_or(&EMPTY));
        let (others_before, others_after) = (Others::of(old, self.mode), Others::of(new, self.mode));
        if before.is_empty()
            && after.is_empty()
            && !old.has_overlays()
            && !new.has_overlays()
            && matches!((&others_before, &others_after), (Others::Pruned, Others::Pruned))
        {
            return;
        }
        let closed = old.core().get("maxProperties").and_then(Value::as_u64) == Some(0);
        let no_object = old.core().get("type").and_then(Value::as_str).is_some_and(|word| word != "object");
        let why = if closed {
            Some("the object has never been allowed a field")
        } else if no_object {
            Some("the value has never been an object")
        } else {
            None
        };
        self.named(old, new, &others_before, &others_after, why);
        if why.is_none() {
            self.others(old, new, before, after, &others_before, &others_after);
        }
    }

    fn items(&mut self, old: &Node<'a>, new: &Node<'a>) {
        match (old.step(Step::Items), new.step(Step::Items)) {
            (Some(before), Some(after)) if old.core().get("maxItems").and_then(Value::as_u64) == Some(0) => {
                self.descend_unreachable(
                    Step::Items,
                    &before,
                    &after,
                    "the list has never been allowed an item",
                );
            }
            (Some(before), Some(after)) => self.descend(Step::Items, &before, &after, Place::Item),
            (None, Some(after)) if old.preserves_unknown() || self.mode == Mode::Values => {
                self.constrained(Step::Items, &after);
            }
            (Some(_), None) if self.mode == Mode::Structure && !new.preserves_unknown() => {
                let draft = Draft::new(&rules::UNRECOGNISED_DIFFERENCE, "no longer says what its items are")
                    .follows("the API server does not accept such a schema")
                    .effect(Effect::Unknown);
                self.push(draft);
            }
            _ => {}
        }
    }

    /// Fields that at least one of the schemas names.
    fn named(
        &mut self,
        old: &Node<'a>,
        new: &Node<'a>,
        others_before: &Others<'a>,
        others_after: &Others<'a>,
        unreachable: Option<&'static str>,
    ) {
        let (before, after) = (old.properties().unwrap_or(&EMPTY), new.properties().unwrap_or(&EMPTY));
        let required = |node: &Node<'_>, name: &str| {
            node.fragments().any(|fragment| {
                let list = fragment.get("required").and_then(Value::as_array);
                list.is_some_and(|list| list.iter().any(|field| field == name))
            })
        };
        for name in old.field_names() {
            let step = Step::Field(name);
            let Some(was) = old.step(step) else { continue };
            match new.step(step) {
                Some(is) => match unreachable {
                    Some(why) => self.descend_unreachable(step, &was, &is, why),
                    None if required(new, name) => {
                        self.descend(step, &was, &is, Place::Required { before: required(old, name) });
                    }
                    None => self.descend(step, &was, &is, Place::Optional),
                },
                None => self.removed(name, &was, others_after, unreachable, || {
                    rename::look_alike(name, before, after)
                }),
            }
        }
        // A definition that keeps unknown fields may hold anything under a name that is new.
        let open = Others::Kept;
        let others_before = if self.keeps_unknown { &open } else { others_before };
        for name in new.field_names() {
            let step = Step::Field(name);
            if before.contains_key(name) || (old.has_overlays() && old.step(step).is_some()) {
                continue;
            }
            let Some(is) = new.step(step) else { continue };
            self.added(step, &is, others_before);
        }
    }

    fn removed(
        &mut self,
        name: &'a str,
        was: &Node<'a>,
        others_after: &Others<'a>,
        unreachable: Option<&'static str>,
        look_alike: impl FnOnce() -> Option<&'a str>,
    ) {
        let step = Step::Field(name);
        if self.mode == Mode::Values {
            return;
        }
        let draft = Draft::new(&rules::FIELD_REMOVED, "is gone")
            .values(Some(Value::from(was.type_name())), None)
            .effect(Effect::Lost)
            .probe(Probe::Any);
        let draft = match (others_after, unreachable) {
            (_, Some(why)) => draft.harmless(why),
            (Others::Described(values), None) => {
                self.descend(step, was, values, Place::Optional);
                return;
            }
            (Others::Kept, None) => draft
                .severity(Severity::Risky)
                .effect(Effect::Surprise)
                .probe(Probe::Nothing)
                .follows("its value is kept, but no longer checked or documented"),
            (Others::Pruned, None) => match look_alike() {
                Some(other) => draft.follows(format!(
                    "its value is silently dropped; {other:?} looks like the same field under a new name, \
                     but nothing is carried over"
                )),
                None if self.path.in_status() || name == "status" && self.path.steps().is_empty() => draft
                    .follows("readers find nothing there, and what controllers write is silently dropped"),
                None => draft.follows("its value is silently dropped"),
            },
        };
        self.push_at(step, draft);
    }

    fn added(&mut self, step: Step<'a>, is: &Node<'a>, others_before: &Others<'a>) {
        match others_before {
            Others::Described(values) => self.descend(step, values, is, Place::Optional),
            Others::Kept => self.constrained(step, is),
            Others::Pruned => {
                let draft = match is.default() {
                    Some(default) => {
                        Draft::new(&rules::FIELD_ADDED, format!("is new, and {default} by default"))
                            .unless_refused(Probe::Absent)
                    }
                    None => Draft::new(&rules::FIELD_ADDED, "is new"),
                };
                let draft = draft
                    .values(None, Some(Value::from(is.type_name())))
                    .follows("objects without it are as good as before");
                self.push_at(step, draft);
                self.path.push(step);
                misplaced::inspect(self, is.core(), 0);
                self.path.pop();
            }
        }
    }

    /// A place that could hold anything and is described now.
    fn constrained(&mut self, step: Step<'a>, is: &Node<'a>) {
        if self.mode == Mode::Values {
            self.descend(step, &Node::anything(), is, Place::Optional);
            return;
        }
        let facts = is.facts();
        let refused = Kinds::ALL.without(facts.kinds);
        if refused.is_empty()
            && is.core().keys().all(|key| key.starts_with("x-kubernetes-preserve") || key == "description")
        {
            return;
        }
        let draft = Draft::new(
            &rules::OPEN_FIELD_CONSTRAINED,
            format!("could be anything and is now {}", is.type_name()),
        )
        .values(None, Some(Value::from(is.type_name())))
        .follows("whatever else was written there is refused or dropped")
        .effect(Effect::Refused)
        .probe(Probe::Kinds(if refused.is_empty() { Kinds::ALL } else { refused }));
        self.push_at(step, draft);
    }

    /// Fields that neither schema names.
    fn others(
        &mut self,
        old: &Node<'a>,
        new: &Node<'a>,
        before: &'a Map<String, Value>,
        after: &'a Map<String, Value>,
        others_before: &Others<'a>,
        others_after: &Others<'a>,
    ) {
        match (others_before, others_after) {
            (Others::Described(was), Others::Described(is)) => {
                self.descend(Step::Values, was, is, Place::Entry);
            }
            (Others::Kept, Others::Described(is)) => self.constrained(Step::Values, is),
            (Others::Pruned, Others::Described(is)) if before.is_empty() => {
                let draft =
                    Draft::new(&rules::MAP_VALUES_ADDED, format!("is now a map of {}", is.type_name()))
                        .follows("objects without entries are as good as before");
                self.push(draft);
                self.path.push(Step::Values);
                misplaced::inspect(self, is.core(), 0);
                self.path.pop();
            }
            (Others::Pruned, Others::Described(is)) => {
                let draft =
                    Draft::new(&rules::FIELDS_BECAME_MAP, format!("is now a map of {}", is.type_name()))
                        .follows("values that fit stay, but typed clients no longer find their fields")
                        .effect(Effect::Surprise);
                self.push(draft);
            }
            (Others::Described(was), Others::Pruned) => {
                let rule =
                    if after.is_empty() { &rules::MAP_VALUES_REMOVED } else { &rules::MAP_BECAME_FIELDS };
                let what = if after.is_empty() {
                    "is a map no longer"
                } else {
                    "was a map and now names its fields"
                };
                let draft = Draft::new(rule, what)
                    .values(Some(Value::from(was.type_name())), None)
                    .follows("entries under other names are silently dropped")
                    .effect(Effect::Lost)
                    .probe(Probe::UnknownField);
                self.push(draft);
            }
            (Others::Described(_), Others::Kept) if self.mode == Mode::Structure => {
                let draft = Draft::new(&rules::PRESERVE_UNKNOWN_FIELDS_ADDED, "keeps values of any kind now")
                    .follows("what was written stays valid");
                self.push(draft);
            }
            (Others::Kept, Others::Pruned) if !old.preserves_unknown() && !new.preserves_unknown() => {
                let draft = Draft::new(&rules::MAP_VALUES_REMOVED, "keeps only the fields it names now")
                    .follows("everything else is silently dropped")
                    .effect(Effect::Lost)
                    .probe(Probe::UnknownField);
                self.push(draft);
            }
            _ => {}
        }
    }

    /// Keywords that open a place for what the schema does not name.
    pub(super) fn openness(&mut self, old: &Node<'a>, new: &Node<'a>) {
        match (old.preserves_unknown(), new.preserves_unknown()) {
            (true, false) => {
                let draft =
                    Draft::new(&rules::PRESERVE_UNKNOWN_FIELDS_REMOVED, "no longer keeps unknown fields")
                        .follows("what the schema does not name is silently dropped")
                        .effect(Effect::Lost)
                        .probe(Probe::UnknownField);
                let kept = !matches!(Others::of(new, self.mode), Others::Pruned);
                self.push(if kept { draft.harmless("every field is still kept") } else { draft });
            }
            (false, true) => {
                let draft = Draft::new(&rules::PRESERVE_UNKNOWN_FIELDS_ADDED, "keeps unknown fields now")
                    .follows("what was written stays valid");
                self.push(draft);
            }
            _ => {}
        }
        let key = "x-kubernetes-embedded-resource";
        match (old.flag(key), new.flag(key)) {
            (false, true) => {
                let draft =
                    Draft::new(&rules::EMBEDDED_RESOURCE_ADDED, "must now be a whole Kubernetes object")
                        .follows("a value without apiVersion, kind and valid metadata is refused")
                        .effect(Effect::Refused)
                        .probe(Probe::Any);
                self.push(draft);
            }
            (true, false) => {
                let draft = Draft::new(
                    &rules::EMBEDDED_RESOURCE_REMOVED,
                    "need not be a whole Kubernetes object any more",
                )
                .follows("apiVersion, kind and metadata are no longer checked or kept on their own account");
                let kept = !matches!(Others::of(new, self.mode), Others::Pruned);
                self.push(if kept {
                    draft.effect(Effect::Surprise)
                } else {
                    draft
                        .severity(Severity::Breaking)
                        .effect(Effect::Lost)
                        .probe(Probe::Any)
                        .unproven(Severity::Risky)
                });
            }
            _ => {}
        }
    }

    pub(super) fn required(&mut self, old: &Node<'a>, new: &Node<'a>, before: &Facts<'a>, after: &Facts<'a>) {
        if before.required == after.required {
            return;
        }
        for name in after.required.difference(&before.required) {
            let draft = Draft::new(&rules::REQUIRED_ADDED, "is now required")
                .values(Some(Value::Bool(false)), Some(Value::Bool(true)))
                .follows("an object without it is refused")
                .effect(Effect::RefusedBeside)
                .probe(Probe::Absent);
            let default = new.step(Step::Field(name)).and_then(|field| field.default().cloned());
            let draft = match default {
                Some(default)
                    if self.mode == Mode::Structure
                        && old.step(Step::Field(name)).is_some_and(|field| field.default().is_some()) =>
                {
                    Draft::new(&rules::REQUIRED_WITH_DEFAULT, "is now required")
                        .values(Some(Value::Bool(false)), Some(Value::Bool(true)))
                        .follows(format!(
                            "the API server fills in {default} and refuses nothing; what checks manifests \
                             without it refuses those that leave the field out"
                        ))
                        .effect(Effect::None)
                }
                Some(default) if self.mode == Mode::Structure => {
                    draft.harmless(format!("objects without it are filled in with {default}"))
                }
                _ if self.always_there(old, name) => {
                    draft.harmless("the API server sees to it that it is there")
                }
                _ if demanded(before, name) => {
                    draft.harmless("the old schema's conditions demanded it already")
                }
                _ => draft,
            };
            self.push_at(Step::Field(name), draft);
        }
        for name in before.required.difference(&after.required) {
            let in_status = self.path.in_status() || self.path.steps().is_empty() && *name == "status";
            let draft = Draft::new(&rules::REQUIRED_REMOVED, "is no longer required")
                .values(Some(Value::Bool(true)), Some(Value::Bool(false)));
            let draft = if in_status {
                let follows = "readers that rely on it may not find it";
                draft.severity(Severity::Risky).effect(Effect::Surprise).follows(follows)
            } else {
                draft.follows("what was written stays valid")
            };
            // A field that is gone is no longer required either: one finding says both.
            if self.mode == Mode::Structure && new.step(Step::Field(name)).is_some() {
                self.push_at(Step::Field(name), draft);
            }
        }
    }

    /// Whether the API server demands the field whatever the schema says.
    fn always_there(&self, old: &Node<'a>, name: &str) -> bool {
        let root = self.path.steps().is_empty() && self.mode == Mode::Structure;
        let embedded = old.flag("x-kubernetes-embedded-resource");
        (root && matches!(name, "apiVersion" | "kind" | "metadata"))
            || (embedded && matches!(name, "apiVersion" | "kind"))
    }
}

/// Whether no object of the old schema has the field, under the new one either.
pub(super) fn cannot_hold(walk: &Walk<'_>, old: &Node<'_>, new: &Node<'_>, field: &str) -> bool {
    let named = old.properties().is_some_and(|named| named.contains_key(field));
    let kept = named || !matches!(Others::of(old, Mode::Structure), Others::Pruned);
    let embedded = old.flag("x-kubernetes-embedded-resource");
    let always = matches!(field, "apiVersion" | "kind" | "metadata");
    !kept
        && !embedded
        && !always
        && !walk.keeps_unknown
        && new.step(Step::Field(field)).is_none_or(|field| field.default().is_none())
}

/// Whether every branch of some condition requires the field.
fn demanded(facts: &Facts<'_>, name: &str) -> bool {
    use crate::node::Condition;
    facts.conditions.iter().any(|condition| {
        !matches!(condition, Condition::Not(_))
            && condition.branches().iter().all(|branch| Node::of(branch).facts().required.contains(name))
    })
}
