//! One object, written under the old definition and under the new one.

use http::Method;
use serde_json::{Value, json};
use slipway_crd_compat::admit::{Admission, Validator, Verdict};
use slipway_crd_compat::finding::{Outcome, Witness, Write};

use crate::server::{Answer, Server, collection};

/// An object and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trial {
    pub(crate) object: Value,
    pub(crate) write: Write,
    /// The `apiVersion` it is written in later, where that differs.
    later: Option<String>,
}

impl Trial {
    pub(crate) fn of_witness(witness: &Witness) -> Trial {
        Trial { object: witness.object.clone(), write: witness.write, later: witness.written_as.clone() }
    }

    /// Both ways to write an object: the status has a subresource of its own.
    pub(crate) fn of_object(object: &Value) -> Vec<Trial> {
        let trial = |object: Value, write| Trial { object, write, later: None };
        let mut trials = vec![trial(without_status(object), Write::Create)];
        if object.get("status").is_some() {
            trials.push(trial(object.clone(), Write::Status));
        }
        trials
    }

    /// Stores what a write of the status needs; `None` when it cannot be stored.
    pub(crate) async fn prepare(&self, server: &Server, crd: &Value, name: &str) -> Option<Prepared> {
        let Write::Status = self.write else { return Some(Prepared { name: None, version: Value::Null }) };
        let mut object = without_status(&self.object);
        object["metadata"]["name"] = json!(name);
        let path = collection(crd, version_of(&object), "default");
        let answer = server.ask(Method::POST, &path, Some(&object)).await;
        let version = answer.body["metadata"]["resourceVersion"].clone();
        answer.is_success().then(|| Prepared { name: Some(name.to_owned()), version })
    }

    /// Writes it, dry-run.
    pub(crate) async fn write(
        &self,
        server: &Server,
        crd: &Value,
        prepared: &Prepared,
        later: bool,
    ) -> Answer {
        let mut object = self.object.clone();
        if let Some(version) = self.later.as_ref().filter(|_| later) {
            object["apiVersion"] = json!(version);
            object["kind"] = crd["spec"]["names"]["kind"].clone();
        }
        let list = collection(crd, version_of(&object), "default");
        let options = "dryRun=All&fieldValidation=Ignore";
        match &prepared.name {
            None => server.ask(Method::POST, &format!("{list}?{options}"), Some(&object)).await,
            Some(name) => {
                object["metadata"]["name"] = json!(name);
                object["metadata"]["resourceVersion"] = prepared.version.clone();
                server.ask(Method::PUT, &format!("{list}/{name}/status?{options}"), Some(&object)).await
            }
        }
    }

    /// The part of an object that the write is about.
    fn part<'v>(&self, object: &'v Value) -> Vec<(&'v str, &'v Value)> {
        let status_only = self.write == Write::Status;
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(key, _)| !["apiVersion", "kind", "metadata"].contains(&key.as_str()))
            .filter(|(key, _)| !status_only || *key == "status")
            .map(|(key, value)| (key.as_str(), value))
            .collect()
    }

    /// What became of it.
    pub(crate) fn fate(&self, answer: &Answer) -> Fate {
        if !answer.is_success() {
            return if answer.is_refusal() { Fate::Refused } else { Fate::Failed };
        }
        let kept = |with_nulls: bool| {
            self.part(&self.object).iter().all(|(key, value)| {
                (value.is_null() && !with_nulls)
                    || answer.body.get(*key).is_some_and(|stored| keeps(value, stored, with_nulls))
            })
        };
        match (kept(true), kept(false)) {
            (true, _) => Fate::Whole,
            (false, true) => Fate::NullLost,
            (false, false) => Fate::Pruned,
        }
    }

    /// Where the validator says something else than the server did.
    pub(crate) fn disagreement(&self, validator: &Validator, answer: &Answer) -> Option<Disagreement> {
        let admission = match self.write {
            Write::Create => validator.create(&self.object),
            Write::Status => validator.update_status(&self.object),
        };
        let told = match &admission.verdict {
            Verdict::Unknown(_) => return Some(Disagreement::Unknown),
            Verdict::Accepted if answer.is_success() => {
                if self.same_stored(&admission, answer) {
                    return None;
                }
                format!("stores {}, the server {}", admission.object, answer.body)
            }
            Verdict::Rejected(_) if answer.is_refusal() => return None,
            verdict => format!("{verdict:?}, the server {} {}", answer.code, answer.message()),
        };
        Some(Disagreement::Real(format!("{:?} of {}: {told}", self.write, self.object)))
    }

    fn same_stored(&self, admission: &Admission, answer: &Answer) -> bool {
        let (ours, theirs) = (self.part(&admission.object), self.part(&answer.body));
        ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(ours, theirs)| ours.0 == theirs.0 && same(ours.1, theirs.1))
    }
}

/// What a write of the status goes to.
#[derive(Debug)]
pub(crate) struct Prepared {
    name: Option<String>,
    version: Value,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Taken, and everything kept.
    Whole,
    /// Taken, but a null is gone or filled in.
    NullLost,
    /// Taken, but something is gone.
    Pruned,
    /// Refused.
    Refused,
    /// The server had trouble of its own.
    Failed,
}

/// The validator and the server say different things.
#[derive(Debug)]
pub(crate) enum Disagreement {
    /// The validator does not know, and says so.
    Unknown,
    /// It is wrong.
    Real(String),
}

/// Whether the server confirms a witness; if not, why.
pub(crate) fn confirms(
    witness: &Witness,
    trial: &Trial,
    before: &Answer,
    after: &Answer,
) -> Result<(), String> {
    let object = &witness.object;
    let was = trial.fate(before);
    if was != Fate::Whole {
        return Err(format!("the old definition does not keep {object}: {was:?} {}", before.message()));
    }
    let is = trial.fate(after);
    let confirmed = match witness.outcome {
        Outcome::Refused => is == Fate::Refused,
        Outcome::Pruned => {
            (is == Fate::Pruned || is == Fate::NullLost)
                && witness.reasons.iter().all(|path| !holds_same(object, &after.body, path))
        }
    };
    if confirmed {
        Ok(())
    } else {
        let told = format!("{is:?} {} {}", after.code, after.message());
        Err(format!("{object} should be {:?} {:?}: {told}", witness.outcome, witness.reasons))
    }
}

/// Whether the field of a path is still as it was written.
fn holds_same(written: &Value, stored: &Value, path: &str) -> bool {
    match (at(written, path), at(stored, path)) {
        (Some(written), Some(stored)) => same(written, stored),
        _ => false,
    }
}

/// The value at a path such as `.spec.list[0].name` or `spec.map[key]`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.into_iter().try_fold(value, |value, step| {
        let step = step.trim_matches('"');
        value.get(step).or_else(|| value.get(step.parse::<usize>().ok()?))
    })
}

fn version_of(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap()
}

fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    object
}

/// Whether everything that was written is still there; defaults may have been added.
fn keeps(written: &Value, stored: &Value, with_nulls: bool) -> bool {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => written.iter().all(|(key, value)| {
            (value.is_null() && !with_nulls)
                || stored.get(key).is_some_and(|kept| keeps(value, kept, with_nulls))
        }),
        (Value::Array(written), Value::Array(stored)) => {
            written.len() == stored.len()
                && written.iter().zip(stored).all(|(value, kept)| keeps(value, kept, with_nulls))
        }
        _ => same(written, stored),
    }
}

/// Equal, a whole float being the integer it is written as.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
