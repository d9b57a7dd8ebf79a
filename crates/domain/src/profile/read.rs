//! Reading a profile: everything that is wrong with it, each with its place.

use jiff::SignedDuration;
use serde_json::{Map, Value};

use super::{DriftCare, Handover, HealthRule, Lease, Profile, RuleSeverity, SmokeTest, Upgrade, UpgradePath};
use crate::problem::Problems;
use crate::version::Version;

/// The fields of one object, taken one by one, so that what is left is what nobody knows.
struct Fields<'a> {
    left: Map<String, Value>,
    path: String,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    fn of(value: &Value, path: &str, problems: &'a mut Problems) -> Option<Self> {
        if let Value::Object(fields) = value {
            return Some(Self { left: fields.clone(), path: path.to_owned(), problems });
        }
        problems.add(path, "has to be an object");
        None
    }

    fn place(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.left.remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => {
                let place = self.place(key);
                self.problems.add(place, "has to be a text");
                None
            }
        }
    }

    fn needed(&mut self, key: &str) -> String {
        if self.left.get(key).is_none_or(Value::is_null) {
            let place = self.place(key);
            self.problems.add(place, "is missing");
        }
        self.text(key).unwrap_or_default()
    }

    fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let place = self.place(key);
            self.problems.add(place, format!("is {text:?}, which is none of {}", known.join(", ")));
        }
        found
    }

    fn object(&mut self, key: &str) -> Option<Map<String, Value>> {
        if let Value::Object(fields) = self.take(key)? {
            Some(fields)
        } else {
            let place = self.place(key);
            self.problems.add(place, "has to be an object");
            None
        }
    }

    fn list(&mut self, key: &str) -> Vec<Value> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                let place = self.place(key);
                self.problems.add(place, "has to be a list");
                Vec::new()
            }
        }
    }

    fn within<T>(&mut self, key: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> Option<T> {
        let value = self.take(key)?;
        let place = self.place(key);
        let mut fields = Fields::of(&value, &place, self.problems)?;
        let read = read(&mut fields);
        fields.end();
        Some(read)
    }

    fn end(self) {
        for key in self.left.keys() {
            let place = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            self.problems.add(place, "is not a field of a profile");
        }
    }
}

pub(super) fn profile(document: &Value) -> Result<Profile, Problems> {
    let mut problems = Problems::new();
    let mut read = Profile::default();
    if let Some(mut fields) = Fields::of(document, "", &mut problems) {
        let handover = [("cold", Handover::Cold), ("standby", Handover::Standby)];
        read.handover = fields.word("handover", &handover).unwrap_or_default();
        read.lease = fields.within("lease", |fields| Lease {
            name: fields.needed("name"),
            namespace: fields.text("namespace"),
        });
        read.smoke_test = fields.within("smokeTest", smoke_test);
        read.webhook_sample = fields.object("webhookSample");
        read.upgrade = fields.within("upgrade", upgrade).unwrap_or_default();
        read.coloured_values = fields.object("colouredValues").unwrap_or_default();
        read.health = health(&mut fields);
        read.drift = fields.within("drift", drift).unwrap_or_default();
        if let Some(sample) = &read.webhook_sample {
            check_object(sample, "webhookSample", fields.problems);
        }
        if read.handover == Handover::Standby && read.lease.is_none() {
            fields
                .problems
                .add("lease", "is missing; a standby handover needs the Lease that both colours share");
        }
        fields.end();
    }
    problems.or(read)
}

fn smoke_test(fields: &mut Fields<'_>) -> SmokeTest {
    let object = fields.object("object");
    let place = fields.place("object");
    match &object {
        Some(object) => check_object(object, &place, fields.problems),
        None => fields.problems.add(place, "is missing"),
    }
    SmokeTest {
        object: object.unwrap_or_default(),
        condition: fields.text("condition").unwrap_or_else(super::ready),
        within: duration(fields, "within").unwrap_or_else(super::two_minutes),
    }
}

fn duration(fields: &mut Fields<'_>, key: &str) -> Option<SignedDuration> {
    let text = fields.text(key)?;
    let read = text.parse::<SignedDuration>().ok().filter(SignedDuration::is_positive);
    if read.is_none() {
        let place = fields.place(key);
        fields.problems.add(place, format!("is {text:?}, which is no duration such as PT2M"));
    }
    read
}

fn upgrade(fields: &mut Fields<'_>) -> Upgrade {
    let path = [("any", UpgradePath::Any), ("noSkippedMinor", UpgradePath::NoSkippedMinor)];
    let path = fields.word("path", &path).unwrap_or_default();
    let place = fields.place("oneWay");
    let one_way = fields.list("oneWay").into_iter().enumerate().filter_map(|(index, version)| {
        let version = version.as_str().unwrap_or_default().parse::<Version>();
        fields.problems.take(&format!("{place}[{index}]"), version)
    });
    Upgrade { path, one_way: one_way.collect() }
}

fn health(fields: &mut Fields<'_>) -> Vec<HealthRule> {
    let place = fields.place("health");
    let rules = fields.list("health");
    let mut read = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let Some(mut rule) = Fields::of(rule, &format!("{place}[{index}]"), fields.problems) else {
            continue;
        };
        let severity = [("degraded", RuleSeverity::Degraded), ("unhealthy", RuleSeverity::Unhealthy)];
        read.push(HealthRule {
            name: rule.needed("name"),
            api_version: rule.needed("apiVersion"),
            kind: rule.needed("kind"),
            namespace: rule.text("namespace"),
            object: rule.text("object"),
            condition: rule.text("condition").unwrap_or_else(super::ready),
            failing: rule.word("failing", &severity).unwrap_or_default(),
        });
        rule.end();
    }
    read
}

fn drift(fields: &mut Fields<'_>) -> DriftCare {
    let mend = match fields.take("mend") {
        None => false,
        Some(Value::Bool(mend)) => mend,
        Some(_) => {
            let place = fields.place("mend");
            fields.problems.add(place, "has to be true or false");
            false
        }
    };
    let place = fields.place("ignore");
    let mut ignore = Vec::new();
    for (index, rule) in fields.list("ignore").into_iter().enumerate() {
        match rule {
            Value::String(rule) if !rule.trim().is_empty() => ignore.push(rule),
            _ => fields
                .problems
                .add(format!("{place}[{index}]"), "has to be a kind and a path, such as \"ConfigMap data\""),
        }
    }
    DriftCare { mend, ignore }
}

/// An object of Kubernetes says at least what it is and how it is called.
fn check_object(object: &Map<String, Value>, path: &str, problems: &mut Problems) {
    for (pointer, place) in
        [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")]
    {
        let value = Value::Object(object.clone());
        if value.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            problems.add(format!("{path}.{place}"), "is missing");
        }
    }
}
