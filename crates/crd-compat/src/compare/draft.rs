//! A difference as the walk found it, before it is proven and reported.

use serde_json::Value;

use crate::finding::{Hit, Severity};
use crate::node::{Kinds, Rule as CelRule};
use crate::options::KubernetesVersion;
use crate::path::Path;
use crate::rules::Rule;

/// What the new schema does to an object that is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// It refuses the value.
    Refused,
    /// It refuses what holds the value.
    RefusedBeside,
    /// It refuses some changes of the value.
    RefusedOnUpdate,
    /// It drops the value.
    Lost,
    /// It lets values through that readers do not know.
    Surprise,
    /// It makes something else of the same manifest.
    Reinterpreted,
    /// Nobody knows.
    Unknown,
}

impl Effect {
    /// Whether something that passed may not pass any more.
    pub(crate) fn tightens(self) -> bool {
        !matches!(self, Effect::None | Effect::Surprise | Effect::Reinterpreted)
    }

    /// Whom it hits: what an API server does, tried out.
    pub(crate) fn hits(
        self,
        path: &Path<'_>,
        status_subresource: bool,
        kubernetes: KubernetesVersion,
    ) -> Vec<Hit> {
        let by_controller = path.in_status() && status_subresource;
        let ratchets = kubernetes.ratchets();
        let depth = path.steps().len();
        match self {
            Effect::None | Effect::Unknown => Vec::new(),
            // The stored status is judged with every update of the object, unless it is ratcheted.
            Effect::Refused | Effect::RefusedBeside if by_controller && ratchets => vec![Hit::Status],
            Effect::Refused | Effect::RefusedBeside if by_controller => vec![Hit::Update, Hit::Status],
            Effect::Refused if ratchets && depth > 0 => vec![Hit::Create, Hit::UpdateField],
            Effect::RefusedBeside if ratchets && depth > 1 => vec![Hit::Create, Hit::UpdateParent],
            Effect::Refused | Effect::RefusedBeside => vec![Hit::Create, Hit::Update],
            Effect::RefusedOnUpdate if by_controller => vec![Hit::Status],
            Effect::RefusedOnUpdate => vec![if depth > 0 { Hit::UpdateField } else { Hit::Update }],
            Effect::Lost | Effect::Reinterpreted if by_controller => vec![Hit::Read, Hit::Status],
            Effect::Lost => vec![Hit::Create, Hit::Update, Hit::Read],
            Effect::Surprise => vec![Hit::Read],
            Effect::Reinterpreted => vec![Hit::Create, Hit::Read],
        }
    }
}

/// Where to look for a value that the old schema keeps and the new one does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Probe<'a> {
    /// There is nothing to look for.
    Nothing,
    /// Among these, and perhaps others.
    Values(Vec<Value>),
    /// Among these and nowhere else.
    Exactly(Vec<Value>),
    /// Among values of these kinds.
    Kinds(Kinds),
    /// Any value will do.
    Any,
    /// An object without the field.
    Absent,
    /// An object with a field the schema does not name.
    UnknownField,
    /// A list of that many items.
    Items(u64),
    /// A list whose items are alike.
    Duplicates,
    /// An object of that many fields.
    Fields(u64),
    /// Objects with and without these fields.
    Combinations(Vec<&'a str>),
    /// Values this CEL rule is likely to refuse.
    Rule(CelRule<'a>),
}

/// A difference as the walk found it.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) severity: Severity,
    pub(crate) path: Path<'a>,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
    /// What happened, to be read after the path: "is now required".
    pub(crate) what: String,
    /// What follows, as a sentence without its full stop.
    pub(crate) follows: String,
    pub(crate) effect: Effect,
    pub(crate) probe: Probe<'a>,
    /// What is left of the severity when no value is found.
    pub(crate) unproven: Severity,
    /// Whether it breaks after all where a value is found that is refused.
    pub(crate) promote: bool,
}

impl<'a> Draft<'a> {
    /// A difference of a rule, as severe as the rule says.
    pub(crate) fn new(rule: &'static Rule, what: impl Into<String>) -> Draft<'a> {
        Draft {
            rule,
            severity: rule.severity,
            path: Path::default(),
            old: None,
            new: None,
            what: what.into(),
            follows: String::new(),
            effect: Effect::None,
            probe: Probe::Nothing,
            unproven: rule.severity,
            promote: false,
        }
    }

    pub(crate) fn values(mut self, old: Option<Value>, new: Option<Value>) -> Draft<'a> {
        self.old = old;
        self.new = new;
        self
    }

    pub(crate) fn follows(mut self, follows: impl Into<String>) -> Draft<'a> {
        self.follows = follows.into();
        self
    }

    pub(crate) fn effect(mut self, effect: Effect) -> Draft<'a> {
        self.effect = effect;
        self
    }

    pub(crate) fn probe(mut self, probe: Probe<'a>) -> Draft<'a> {
        self.probe = probe;
        self
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Draft<'a> {
        self.severity = severity;
        self.unproven = severity;
        self
    }

    /// The severity that is left when no value is found that shows the break.
    pub(crate) fn unproven(mut self, severity: Severity) -> Draft<'a> {
        self.unproven = severity;
        self
    }

    /// Harmless in itself, but breaking where the probe finds an object that is refused.
    pub(crate) fn unless_refused(mut self, probe: Probe<'a>) -> Draft<'a> {
        self.probe = probe;
        self.promote = true;
        self
    }

    /// The same difference, shown to harm nobody.
    pub(crate) fn harmless(mut self, why: impl Into<String>) -> Draft<'a> {
        self.severity = Severity::Safe;
        self.unproven = Severity::Safe;
        self.effect = Effect::None;
        self.probe = Probe::Nothing;
        self.promote = false;
        self.follows = why.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Step;

    const OLD: KubernetesVersion = KubernetesVersion::new(1, 29);
    const NEW: KubernetesVersion = KubernetesVersion::new(1, 36);

    fn path(names: &[&'static str]) -> Path<'static> {
        Path(names.iter().map(|name| Step::Field(name)).collect())
    }

    #[test]
    fn ratcheting_spares_updates_that_touch_something_else() {
        let size = path(&["spec", "size"]);
        assert_eq!(Effect::Refused.hits(&size, true, NEW), [Hit::Create, Hit::UpdateField]);
        assert_eq!(Effect::RefusedBeside.hits(&size, true, NEW), [Hit::Create, Hit::UpdateParent]);
        assert_eq!(Effect::Refused.hits(&size, true, OLD), [Hit::Create, Hit::Update]);
    }

    #[test]
    fn what_the_root_lacks_stops_every_update() {
        assert_eq!(Effect::RefusedBeside.hits(&path(&["spec"]), true, NEW), [Hit::Create, Hit::Update]);
        assert_eq!(Effect::Refused.hits(&Path::default(), true, NEW), [Hit::Create, Hit::Update]);
    }

    #[test]
    fn a_stricter_status_stops_the_controller() {
        let phase = path(&["status", "phase"]);
        assert_eq!(Effect::RefusedBeside.hits(&phase, true, NEW), [Hit::Status]);
        assert_eq!(Effect::Refused.hits(&phase, true, OLD), [Hit::Update, Hit::Status]);
        assert_eq!(Effect::Refused.hits(&phase, false, NEW), [Hit::Create, Hit::UpdateField]);
        assert_eq!(Effect::Lost.hits(&phase, true, NEW), [Hit::Read, Hit::Status]);
        assert_eq!(Effect::RefusedOnUpdate.hits(&phase, true, NEW), [Hit::Status]);
        assert_eq!(Effect::Reinterpreted.hits(&phase, true, NEW), [Hit::Read, Hit::Status]);
    }

    #[test]
    fn a_rule_about_changes_bites_on_updates_only() {
        assert_eq!(Effect::RefusedOnUpdate.hits(&path(&["spec"]), true, NEW), [Hit::UpdateField]);
        assert_eq!(Effect::RefusedOnUpdate.hits(&Path::default(), true, NEW), [Hit::Update]);
    }
}
