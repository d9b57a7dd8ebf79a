//! Walks two schemas side by side, once, and drafts every difference.

use serde_json::{Map, Value};

use super::draft::{Draft, Effect, Probe};
use crate::finding::Severity;
use crate::node::Node;
use crate::path::{Path, Step};
use crate::rules;
use crate::schema::MAX_DEPTH;

/// What a schema that is not there means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The schema of a version: fields it does not name are pruned.
    Structure,
    /// A schema inside `anyOf` and the like: it checks what it names, and lets everything else pass.
    Values,
}

/// What a place is to what holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The object itself.
    Root,
    /// A property that may be missing.
    Optional,
    /// A property that must be there under the new schema, and had to under the old one if `before`.
    Required {
        /// Whether it was required before.
        before: bool,
    },
    /// An item of a list.
    Item,
    /// A value of a map.
    Entry,
}

/// Walks two schemas side by side.
pub(crate) struct Walk<'a> {
    pub(super) path: Path<'a>,
    pub(super) mode: Mode,
    /// Why nothing can be written here under the old schema, if so.
    unreachable: Option<&'static str>,
    depth: usize,
    drafts: Vec<Draft<'a>>,
    /// The whole new schema.
    root: Option<Node<'a>>,
    /// Whether changed documentation is worth a word.
    documentation: bool,
    /// Whether the old definition keeps fields its schema does not name.
    pub(super) keeps_unknown: bool,
}

impl<'a> Walk<'a> {
    /// Every difference between the schemas of two versions; those of documentation if wanted.
    pub(crate) fn schemas(
        old: &Node<'a>,
        new: &Node<'a>,
        documentation: bool,
        keeps_unknown: bool,
    ) -> Vec<Draft<'a>> {
        let root = Some(new.clone());
        let mut walk = Walk { root, documentation, keeps_unknown, ..Walk::starting(Mode::Structure) };
        walk.node(old, new, Place::Root);
        walk.drafts
    }

    /// Whether every value that passes `old` passes `new`, as far as can be shown.
    pub(super) fn is_weaker(old: &Node<'a>, new: &Node<'a>, depth: usize) -> bool {
        let mut walk = Walk { depth: depth + 1, ..Walk::starting(Mode::Values) };
        walk.node(old, new, Place::Root);
        !walk.drafts.iter().any(|draft| draft.effect.tightens())
    }

    fn starting(mode: Mode) -> Walk<'a> {
        Walk {
            path: Path::default(),
            mode,
            unreachable: None,
            depth: 0,
            drafts: Vec::new(),
            root: None,
            documentation: false,
            keeps_unknown: false,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn push(&mut self, mut draft: Draft<'a>) {
        if let Some(why) = self.unreachable
            && draft.effect.tightens()
        {
            draft = draft.harmless(why);
        }
        if draft.promote && !self.may_upset() {
            draft.promote = false;
            draft.probe = Probe::Nothing;
        }
        draft.path = Path(self.path.steps().to_vec());
        self.drafts.push(draft);
    }

    /// Whether a rule further up speaks of the last field of the path, or of which fields there are: then
    /// it matters whether the field is there.
    fn may_upset(&self) -> bool {
        let Some(mut at) = self.root.clone() else { return false };
        let field = self.path.steps().iter().rev().find_map(|step| match step {
            Step::Field(name) => Some(*name),
            _ => None,
        });
        for step in self.path.steps() {
            let facts = at.facts();
            let spoken = |rule: &crate::node::Rule<'_>| field.is_some_and(|field| rule.rule.contains(field));
            if !facts.conditions.is_empty() || facts.fields.max.is_some() || facts.rules.iter().any(spoken) {
                return true;
            }
            match at.step(*step) {
                Some(next) => at = next,
                None => return false,
            }
        }
        false
    }

    pub(super) fn push_at(&mut self, step: Step<'a>, draft: Draft<'a>) {
        self.path.push(step);
        self.push(draft);
        self.path.pop();
    }

    /// Goes one step further in.
    pub(super) fn descend(&mut self, step: Step<'a>, old: &Node<'a>, new: &Node<'a>, place: Place) {
        self.path.push(step);
        self.node(old, new, place);
        self.path.pop();
    }

    /// Goes one step further in, to where the old schema lets nobody write.
    pub(super) fn descend_unreachable(
        &mut self,
        step: Step<'a>,
        old: &Node<'a>,
        new: &Node<'a>,
        why: &'static str,
    ) {
        let before = self.unreachable.replace(why);
        self.descend(step, old, new, Place::Optional);
        self.unreachable = before;
    }

    fn node(&mut self, old: &Node<'a>, new: &Node<'a>, place: Place) {
        if self.depth > MAX_DEPTH {
            let draft = Draft::new(&rules::SCHEMA_TOO_DEEP, "is nested too deeply to be compared")
                .follows("what differs further down is not known")
                .effect(Effect::Unknown);
            self.push(draft);
            return;
        }
        self.depth += 1;
        let go_on = !self.differs(old, new) || self.keywords(old, new, place);
        if go_on {
            self.structure(old, new);
        }
        self.depth -= 1;
    }

    /// Whether any keyword besides structure and documentation differs; notes changed documentation.
    fn differs(&mut self, old: &Node<'a>, new: &Node<'a>) -> bool {
        let (before, after) = (old.core(), new.core());
        let mut differs = false;
        let mut documentation: Option<&str> = None;
        for (key, value) in before {
            match role(key) {
                Role::Documentation if self.documentation && after.get(key) != Some(value) => {
                    documentation = documentation.or(Some(key));
                }
                Role::Structure | Role::Documentation => {}
                Role::Keyword => differs = differs || after.get(key) != Some(value),
            }
        }
        for key in after.keys().filter(|key| !before.contains_key(*key)) {
            match role(key) {
                Role::Documentation if self.documentation => documentation = documentation.or(Some(key)),
                Role::Structure | Role::Documentation => {}
                Role::Keyword => differs = true,
            }
        }
        if let Some(key) = documentation {
            let draft = Draft::new(&rules::DESCRIPTION_CHANGED, format!("has another {key}"))
                .values(before.get(key).cloned(), after.get(key).cloned())
                .follows("objects are judged as before");
            self.push(draft);
        }
        differs || !old.same_overlays(new)
    }

    /// Compares the keywords of one place; false when types have so little in common that what lies
    /// beneath cannot be compared.
    fn keywords(&mut self, old: &Node<'a>, new: &Node<'a>, place: Place) -> bool {
        let (before, after) = (old.facts(), new.facts());
        self.nullable(old, new, place);
        if !self.kinds(old, new, &before, &after) {
            return false;
        }
        self.default(old, new, place);
        self.required(old, new, &before, &after);
        self.openness(old, new);
        self.enums(&before, &after);
        self.numbers(&before, &after);
        self.texts(&before, &after);
        self.sizes(old, new, &before, &after);
        self.merging(old, new, &before);
        self.conditions(old, new, &before, &after);
        self.cel(old, new, &before, &after);
        self.unknown_keywords(old, new);
        true
    }

    fn unknown_keywords(&mut self, old: &Node<'a>, new: &Node<'a>) {
        let unknown = |map: &'a Map<String, Value>| map.iter().filter(|(key, _)| !is_known(key));
        let mut before: Vec<_> = old.fragments().flat_map(unknown).collect();
        let mut after: Vec<_> = new.fragments().flat_map(unknown).collect();
        before.sort_by_key(|(key, _)| key.as_str());
        after.sort_by_key(|(key, _)| key.as_str());
        let gone = before.iter().filter(|(key, _)| !after.iter().any(|(other, _)| other == key));
        let gone = gone.map(|(key, value)| (*key, Some(*value), None));
        let there = after.iter().filter_map(|(key, value)| {
            let old = before.iter().find(|(other, _)| other == key).map(|(_, old)| *old);
            (old != Some(*value)).then_some((*key, old, Some(*value)))
        });
        for (key, old, new) in gone.chain(there).collect::<Vec<_>>() {
            let draft = Draft::new(&rules::UNRECOGNISED_DIFFERENCE, format!("has another {key}"))
                .values(old.cloned(), new.cloned())
                .follows("this keyword is not known here, so its effect cannot be judged")
                .effect(Effect::Unknown)
                .severity(Severity::Risky);
            self.push(draft);
        }
    }
}

/// What part a keyword plays.
enum Role {
    Structure,
    Documentation,
    Keyword,
}

fn role(key: &str) -> Role {
    match key {
        "properties" | "items" | "additionalProperties" => Role::Structure,
        "description" | "title" | "example" | "externalDocs" => Role::Documentation,
        _ => Role::Keyword,
    }
}

/// Whether the comparison knows what a keyword does.
fn is_known(key: &str) -> bool {
    matches!(
        key,
        "type"
            | "format"
            | "nullable"
            | "title"
            | "description"
            | "example"
            | "externalDocs"
            | "properties"
            | "required"
            | "items"
            | "additionalProperties"
            | "enum"
            | "default"
            | "minimum"
            | "exclusiveMinimum"
            | "maximum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "minProperties"
            | "maxProperties"
            | "pattern"
            | "uniqueItems"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "x-kubernetes-preserve-unknown-fields"
            | "x-kubernetes-embedded-resource"
            | "x-kubernetes-int-or-string"
            | "x-kubernetes-list-type"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-map-type"
            | "x-kubernetes-validations"
    )
}
