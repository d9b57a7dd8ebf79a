//! Whether one can go back, once objects have been written under the new definition.

use serde::Serialize;
use serde_json::Value;

use crate::admit::{Validator, Verdict as Answer};
use crate::compare::differences;
use crate::compare::draft::Effect;
use crate::crd::Crd;
use crate::finding::{Finding, Severity};
use crate::options::Options;
use crate::rules;
use crate::witness::{Proof, Prover};

/// Whether one can go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At any time.
    Reversible,
    /// Once objects have been rewritten so that the old definition takes them.
    AfterMigration,
    /// No: rewriting objects does not help.
    OneWay,
}

impl Verdict {
    /// The words used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Reversible => "reversible",
            Verdict::AfterMigration => "after migration",
            Verdict::OneWay => "one way",
        }
    }
}

/// Whether one can go back, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rollback {
    /// Whether one can.
    pub verdict: Verdict,
    /// Why, in sentences without a full stop.
    pub reasons: Vec<String>,
}

/// Places named in one reason.
const NAMED: usize = 2;

/// Live objects named in one reason.
const OBJECTS_NAMED: usize = 3;

/// The answer for a definition that only one side has.
pub(crate) fn alone(removed: bool) -> Rollback {
    if removed {
        let reason =
            "deleting the definition deletes its objects, and creating it again does not bring them back";
        Rollback { verdict: Verdict::OneWay, reasons: vec![reason.to_owned()] }
    } else {
        let reason = "going back deletes the definition, and with it every object made meanwhile";
        Rollback { verdict: Verdict::AfterMigration, reasons: vec![reason.to_owned()] }
    }
}

/// The answer where nothing could be compared.
pub(crate) fn unknown() -> Rollback {
    let reason = "whether the old definition takes every object cannot be told";
    Rollback { verdict: Verdict::AfterMigration, reasons: vec![reason.to_owned()] }
}

/// Judges whether one can go back from `new` to `old`.
pub(crate) fn judge(old: &Crd, new: &Crd, options: &Options, forward: &[Finding]) -> Rollback {
    let mut judgement = Judgement { verdict: Verdict::Reversible, reasons: Vec::new() };
    judgement.identity(old, new);
    judgement.versions(old, new, options);
    match &options.live_objects {
        Some(objects) => judgement.live(old, objects),
        // What does not differ on the way there does not differ on the way back.
        None if forward.iter().all(|finding| finding.id == rules::DESCRIPTION_CHANGED.id) => {}
        None => judgement.schemas(old, new),
    }
    judgement.lost(forward);
    if judgement.reasons.is_empty() {
        judgement.reasons.push("the old definition takes every object the new one allows".to_owned());
    }
    Rollback { verdict: judgement.verdict, reasons: judgement.reasons }
}

struct Judgement {
    verdict: Verdict,
    reasons: Vec<String>,
}

impl Judgement {
    fn add(&mut self, verdict: Verdict, reason: String) {
        self.verdict = self.verdict.max(verdict);
        self.reasons.push(reason);
    }

    fn identity(&mut self, old: &Crd, new: &Crd) {
        for (what, was, is) in [
            ("group", old.group(), new.group()),
            ("kind", old.kind(), new.kind()),
            ("plural", old.plural(), new.plural()),
            ("scope", old.scope(), new.scope()),
        ] {
            if was != is {
                self.add(
                    Verdict::OneWay,
                    format!("the {what} changes from {was} to {is}, and objects cannot follow"),
                );
            }
        }
    }

    fn versions(&mut self, old: &Crd, new: &Crd, options: &Options) {
        let storage =
            new.versions().iter().find(|version| version.storage()).map(|version| version.name().to_owned());
        let stored = options
            .stored_versions
            .clone()
            .unwrap_or_else(|| old.stored_versions().into_iter().map(str::to_owned).collect());
        let mut unknown: Vec<String> =
            storage.into_iter().chain(stored).filter(|name| old.version(name).is_none()).collect();
        unknown.sort();
        unknown.dedup();
        for version in unknown {
            let way_back = new.versions().into_iter().find(|shared| old.version(shared.name()).is_some());
            match way_back {
                Some(shared) => self.add(
                    Verdict::AfterMigration,
                    format!(
                        "objects are stored as {version}, which the old definition does not have: store them as {} \
                         again and take {version} out of status.storedVersions first",
                        shared.name()
                    ),
                ),
                None => self.add(
                    Verdict::OneWay,
                    format!(
                        "objects are stored as {version}, which the old definition does not have, and no version of \
                         the old one is left to store them in"
                    ),
                ),
            }
        }
    }

    /// What objects may hold that the old schema does not take.
    fn schemas(&mut self, old: &Crd, new: &Crd) {
        for is in new.versions().into_iter().filter(|is| is.served() || is.storage()) {
            let Some(was) = old.version(is.name()) else { continue };
            let (mut fields, mut values, mut missing, mut unknown) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let search = Prover::new((new, is), (old, was));
            for draft in differences(new, is, was) {
                if !draft.promote && !draft.effect.tightens() {
                    continue;
                }
                let place = draft.path.to_string();
                if draft.promote && matches!(search.prove(&draft), Proof::Witness(_)) {
                    values.push(place);
                    continue;
                }
                match draft.effect {
                    Effect::Lost if old.preserve_unknown_fields() => {}
                    Effect::Lost => fields.push(place),
                    Effect::RefusedBeside => missing.push(place),
                    Effect::Refused => values.push(place),
                    Effect::Unknown => unknown.push(place),
                    Effect::RefusedOnUpdate | Effect::None | Effect::Surprise | Effect::Reinterpreted => {}
                }
            }
            let (v, after) = (is.name(), Verdict::AfterMigration);
            if !fields.is_empty() {
                let what = if fields.len() == 1 { "a field" } else { "fields" };
                self.add(
                    after,
                    format!(
                        "{v} objects may hold {what} the old schema drops at the next write: {}",
                        some(&fields)
                    ),
                );
            }
            if !values.is_empty() {
                self.add(
                    after,
                    format!("{v} objects may hold values the old schema refuses: {}", some(&values)),
                );
            }
            if !missing.is_empty() {
                self.add(
                    after,
                    format!("{v} objects may lack what the old schema requires: {}", some(&missing)),
                );
            }
            if !unknown.is_empty() {
                self.add(
                    after,
                    format!(
                        "whether the old schema takes every {v} object cannot be told: {}",
                        some(&unknown)
                    ),
                );
            }
        }
    }

    /// What the objects that exist hold.
    fn live(&mut self, old: &Crd, objects: &[Value]) {
        let mut validators: Vec<(String, Option<Validator>)> = Vec::new();
        let mut hit: Vec<String> = Vec::new();
        for object in objects {
            let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let version = version.rsplit('/').next().unwrap_or_default();
            if !validators.iter().any(|(known, _)| known == version) {
                validators.push((version.to_owned(), Validator::new(old, version).ok()));
            }
            let validator =
                validators.iter().find(|(known, _)| known == version).and_then(|(_, found)| found.as_ref());
            let problem = match validator {
                None => Some(format!("version {version} is not in the old definition")),
                Some(validator) => problem(validator, object),
            };
            hit.extend(problem.map(|problem| format!("{}: {problem}", name(object))));
        }
        let total = objects.len();
        if hit.is_empty() {
            self.reasons.push(format!("the old definition takes all {total} live objects as they are"));
        } else {
            let named = hit.iter().take(OBJECTS_NAMED).cloned().collect::<Vec<_>>().join("; ");
            let more = hit.len().saturating_sub(OBJECTS_NAMED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let reason = format!(
                "the old definition does not take {} of {total} live objects: {named}{more}",
                hit.len()
            );
            self.add(Verdict::AfterMigration, reason);
        }
    }

    /// What is lost on the way there does not come back on the way home.
    fn lost(&mut self, forward: &[Finding]) {
        let drops = [
            rules::FIELD_REMOVED.id,
            rules::MAP_VALUES_REMOVED.id,
            rules::MAP_BECAME_FIELDS.id,
            rules::PRESERVE_UNKNOWN_FIELDS_REMOVED.id,
            rules::PRESERVE_UNKNOWN_DISABLED.id,
        ];
        let places: Vec<String> = forward
            .iter()
            .filter(|finding| drops.contains(&finding.id) && finding.severity == Severity::Breaking)
            .map(|finding| finding.path.clone())
            .collect();
        if !places.is_empty() {
            let reason =
                format!("what the new schema drops comes back from a backup only: {}", some(&places));
            self.add(Verdict::AfterMigration, reason);
        }
    }
}

fn problem(validator: &Validator, object: &Value) -> Option<String> {
    for admission in [validator.create(object), validator.update_status(object)] {
        match admission.verdict {
            Answer::Rejected(violations) => {
                return Some(
                    violations
                        .first()
                        .map_or_else(String::new, |first| format!("{}: {}", first.path, first.message)),
                );
            }
            Answer::Unknown(reasons) => {
                return Some(format!(
                    "cannot be judged here: {}",
                    reasons.first().map_or("", String::as_str)
                ));
            }
            Answer::Accepted => {}
        }
        if let Some(lost) = admission.pruned.first() {
            return Some(format!("{lost} would be dropped"));
        }
    }
    None
}

fn name(object: &Value) -> String {
    let text = |key: &str| object.pointer(&format!("/metadata/{key}")).and_then(Value::as_str);
    match (text("namespace"), text("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        _ => "an object without a name".to_owned(),
    }
}

/// A few places by name, the rest by number.
fn some(places: &[String]) -> String {
    let named = places.iter().take(NAMED).map(|place| elide(place)).collect::<Vec<_>>().join(", ");
    match places.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// A long path with its middle left out.
fn elide(place: &str) -> String {
    let steps: Vec<&str> = place.split('.').filter(|step| !step.is_empty()).collect();
    match steps.as_slice() {
        [first, second, .., before, last] if place.len() > 60 => format!(".{first}.{second}…{before}.{last}"),
        _ => place.to_owned(),
    }
}
