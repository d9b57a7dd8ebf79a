//! Objects that prove a break: the old definition takes them and keeps them whole, the new one does not.

use std::cell::OnceCell;

use serde_json::{Map, Value, json};

use crate::admit::{Admission, Validator, Verdict, Violation};
use crate::compare::draft::{Draft, Effect, Probe};
use crate::crd::{Crd, CrdVersion};
use crate::finding::{Outcome, Witness, Write};
use crate::node::Node;

mod candidates;
mod embed;
mod place;
mod rule;
mod sample;

pub(crate) use sample::Sampler;

/// Documents tried for one finding.
const MAX_TRIES: usize = 240;

/// What came of the search for a witness.
#[derive(Debug)]
pub(crate) enum Proof {
    /// Here it is.
    Witness(Box<Witness>),
    /// There is none: every value that was allowed has been tried.
    Refuted,
    /// None was found, for this reason.
    Missing(String),
}

/// Searches witnesses for one version of the old definition against one of the new.
pub(crate) struct Prover<'a> {
    old: (&'a Crd, CrdVersion<'a>),
    new: (&'a Crd, CrdVersion<'a>),
    root_old: Node<'a>,
    root_both: Node<'a>,
    validators: OnceCell<Result<(Validator, Validator), String>>,
}

impl<'a> Prover<'a> {
    pub(crate) fn new(old: (&'a Crd, CrdVersion<'a>), new: (&'a Crd, CrdVersion<'a>)) -> Prover<'a> {
        let root = |version: &CrdVersion<'a>| version.schema().map_or_else(Node::anything, Node::of);
        let root_old = root(&old.1);
        let root_both = match new.1.schema() {
            Some(schema) => root_old.and(schema),
            None => root_old.clone(),
        };
        Prover { old, new, root_old, root_both, validators: OnceCell::new() }
    }

    /// Searches an object that shows the difference.
    pub(crate) fn prove(&self, draft: &Draft<'a>) -> Proof {
        if draft.effect == Effect::RefusedOnUpdate {
            return Proof::Missing(
                "the rule compares with what is stored, so a single object cannot show it".into(),
            );
        }
        if draft.probe == Probe::Nothing {
            return Proof::Missing("no object can show it".into());
        }
        let validators = self.validators.get_or_init(|| {
            let build = |(crd, version): (&Crd, CrdVersion<'a>)| {
                Validator::new(crd, version.name()).map_err(|error| error.to_string())
            };
            Ok((build(self.old)?, build(self.new)?))
        });
        let (old, new) = match validators {
            Ok(validators) => (&validators.0, &validators.1),
            Err(reason) => return Proof::Missing(format!("objects cannot be judged here: {reason}")),
        };
        let mut search = Search {
            prover: self,
            old,
            new,
            draft,
            tried: Vec::new(),
            doubt: None,
            built: false,
            kept: false,
            fine: Vec::new(),
        };
        match search.run() {
            Some(witness) => Proof::Witness(Box::new(witness)),
            None if matches!(&draft.probe, Probe::Exactly(values) if values.iter().all(|value| search.fine.contains(value))) => {
                Proof::Refuted
            }
            None => Proof::Missing(search.reason()),
        }
    }

    fn is_status(&self, draft: &Draft<'_>) -> bool {
        draft.path.in_status() && self.old.1.has_status()
    }
}

/// One search.
struct Search<'p, 'a> {
    prover: &'p Prover<'a>,
    old: &'p Validator,
    new: &'p Validator,
    draft: &'p Draft<'a>,
    tried: Vec<Value>,
    doubt: Option<String>,
    built: bool,
    kept: bool,
    /// Values that both schemas take and keep.
    fine: Vec<Value>,
}

/// What a document shows.
enum Judged {
    /// That something breaks.
    Witness(Box<Witness>),
    /// That its value does not.
    Fine,
    /// Nothing.
    Neither,
}

impl Search<'_, '_> {
    fn run(&mut self) -> Option<Witness> {
        let prover = self.prover;
        let path = self.draft.path.steps();
        // Fields both schemas are content with make the clearest witness; failing that, the old one decides.
        for root in [&prover.root_both, &prover.root_old] {
            for choice in 0..4 {
                let sampler = Sampler::new(choice);
                let leaves = candidates::of(sampler, &prover.root_old, self.draft);
                for leaf in leaves {
                    let Some(body) = embed::embed(sampler, root, path, &leaf) else { continue };
                    if self.tried.contains(&body) {
                        continue;
                    }
                    if self.tried.len() >= MAX_TRIES {
                        return None;
                    }
                    self.tried.push(body.clone());
                    match self.judge(body) {
                        Judged::Witness(witness) => return Some(*witness),
                        Judged::Fine => {
                            if let embed::Leaf::Value(value) = leaf {
                                self.fine.push(value);
                            }
                        }
                        Judged::Neither => {}
                    }
                }
            }
        }
        None
    }

    /// What the document shows.
    fn judge(&mut self, body: Value) -> Judged {
        let prover = self.prover;
        let Some(document) = prover.document(body, prover.old.1) else { return Judged::Neither };
        self.built = true;
        let status = prover.is_status(self.draft);
        let before = write(self.old, &document, status);
        match before.verdict {
            Verdict::Accepted if before.pruned.is_empty() && keeps(&document, &before.object) => {
                self.kept = true;
            }
            Verdict::Unknown(reasons) => {
                self.doubt = reasons.into_iter().next();
                return Judged::Neither;
            }
            _ => return Judged::Neither,
        }
        let (then, now) = (prover.old.1.name(), prover.new.1.name());
        let mut rewritten = None;
        let crossed = if then == now && prover.old.0.kind() == prover.new.0.kind() {
            &document
        } else {
            rewritten.insert(prover.rewritten(&document))
        };
        let after = write(self.new, crossed, status && prover.new.1.has_status());
        if after.verdict.is_accepted() && after.pruned.is_empty() && keeps(crossed, &after.object) {
            return Judged::Fine;
        }
        let Some((outcome, reasons)) = self.outcome(crossed, after) else { return Judged::Neither };
        Judged::Witness(Box::new(Witness {
            object: document,
            write: if status { Write::Status } else { Write::Create },
            outcome,
            written_as: (then != now).then(|| format!("{}/{now}", prover.new.0.group())),
            reasons,
        }))
    }

    fn outcome(&mut self, document: &Value, after: Admission) -> Option<(Outcome, Vec<String>)> {
        match after.verdict {
            Verdict::Rejected(violations) => {
                let ours = violations.iter().filter(|violation| self.concerns(violation));
                let reasons: Vec<String> =
                    ours.map(|violation| format!("{}: {}", violation.path, violation.message)).collect();
                (!reasons.is_empty()).then_some((Outcome::Refused, reasons))
            }
            Verdict::Accepted if self.draft.promote => None,
            Verdict::Accepted => {
                let path = self.draft.path.steps();
                let mut lost: Vec<String> =
                    after.pruned.iter().filter(|lost| place::is_within(lost, path)).cloned().collect();
                if lost.is_empty() && after.pruned.is_empty() && !keeps(document, &after.object) {
                    lost.push(self.draft.path.to_string());
                }
                (!lost.is_empty()).then_some((Outcome::Pruned, lost))
            }
            Verdict::Unknown(reasons) => {
                self.doubt = reasons.into_iter().next();
                None
            }
        }
    }

    /// Whether a violation is about the difference at hand, and not about another one.
    fn concerns(&self, violation: &Violation) -> bool {
        let path = self.draft.path.steps();
        if let Probe::Rule(rule) = &self.draft.probe {
            // A rule may point at another field of what holds it, but it speaks with its own words.
            return violation.keyword == "cel"
                && place::is_within(&violation.path, self.draft.path.parent())
                && rule.says(&violation.message);
        }
        if self.draft.promote {
            // What changes whether a field is there may upset what holds it.
            let counts = ["anyOf", "oneOf", "not", "minProperties", "maxProperties", "required", "cel"];
            return counts.contains(&violation.keyword)
                && place::is_within(&violation.path, self.draft.path.parent());
        }
        let own = match self.draft.probe {
            Probe::Combinations(_) => ["anyOf", "oneOf", "not", "allOf"].contains(&violation.keyword),
            Probe::Items(_) | Probe::Duplicates | Probe::Fields(_) => !place::is_below(&violation.path, path),
            _ => true,
        };
        violation.keyword != "cel" && own && place::is_within(&violation.path, path)
    }

    fn reason(&self) -> String {
        match (&self.doubt, self.built, self.kept) {
            (Some(doubt), ..) => {
                format!("whether an object shows it depends on what cannot be evaluated here: {doubt}")
            }
            (None, false, _) => "no object could be built that reaches the field".to_owned(),
            (None, true, false) => {
                "no object could be built that the old schema accepts with such a value".to_owned()
            }
            (None, true, true) => {
                format!("none of {} objects that were tried is refused", self.tried.len())
            }
        }
    }
}

impl Prover<'_> {
    /// The body as an object of the old version.
    fn document(&self, body: Value, version: CrdVersion<'_>) -> Option<Value> {
        let Value::Object(body) = body else { return None };
        let crd = self.old.0;
        let mut document = Map::new();
        document.insert("apiVersion".into(), json!(format!("{}/{}", crd.group(), version.name())));
        document.insert("kind".into(), json!(crd.kind()));
        document.insert("metadata".into(), json!({"name": "witness"}));
        for (key, value) in body {
            document.entry(key).or_insert(value);
        }
        Some(Value::Object(document))
    }

    /// The same object, written in the new version.
    fn rewritten(&self, document: &Value) -> Value {
        let mut document = document.clone();
        if let Value::Object(map) = &mut document {
            map.insert("apiVersion".into(), json!(format!("{}/{}", self.new.0.group(), self.new.1.name())));
            map.insert("kind".into(), json!(self.new.0.kind()));
        }
        document
    }
}

fn write(validator: &Validator, document: &Value, status: bool) -> Admission {
    if status { validator.update_status(document) } else { validator.create(document) }
}

/// Whether everything that was written is still there; defaults may have been added.
fn keeps(written: &Value, stored: &Value) -> bool {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => {
            written.iter().all(|(key, value)| stored.get(key).is_some_and(|kept| keeps(value, kept)))
        }
        (Value::Array(written), Value::Array(stored)) => {
            written.len() == stored.len()
                && written.iter().zip(stored).all(|(value, kept)| keeps(value, kept))
        }
        _ => written == stored,
    }
}
