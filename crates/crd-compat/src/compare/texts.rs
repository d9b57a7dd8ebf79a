//! Which texts a place allows: length, pattern, format.

use serde_json::Value;

use super::draft::{Draft, Effect, Probe};
use super::values::may_hold;
use super::walk::{Mode, Walk};
use crate::domain::Search;
use crate::domain::number::{Numbers, to_value};
use crate::domain::text::{self, Wanted};
use crate::finding::Severity;
use crate::node::{Bound, Facts, Kinds, Span};
use crate::rules::{self, Rule};

impl<'a> Walk<'a> {
    pub(super) fn texts(&mut self, before: &Facts<'a>, after: &Facts<'a>) {
        let applies = before.kinds.and(after.kinds).has(Kinds::STRING);
        self.lengths(before, after, applies);
        self.patterns(before, after, applies);
        self.formats(before, after);
    }

    fn lengths(&mut self, before: &Facts<'a>, after: &Facts<'a>, applies: bool) {
        let (was, is) = (before.length, after.length);
        if was.min < is.min {
            let short = Span { min: was.min, max: Some(is.min - 1) };
            let what = format!("must now have at least {}", characters(is.min));
            self.length(&rules::MIN_LENGTH_TIGHTENED, what, (was.min, is.min), before, short, applies);
        } else if was.min > is.min {
            let what = format!("need only have {} now", characters(is.min));
            self.loosened(
                &rules::MIN_LENGTH_LOOSENED,
                what,
                Some(was.min),
                Some(is.min).filter(|min| *min > 0),
            );
        }
        match (was.max, is.max) {
            (old, Some(max)) if old.is_none_or(|old| old > max) => {
                let long = Span { min: was.min.max(max + 1), max: old };
                let draft = self.length_draft(
                    &rules::MAX_LENGTH_TIGHTENED,
                    format!("may now have at most {}", characters(max)),
                    before,
                    long,
                    applies,
                );
                self.push(draft.values(old.map(Value::from), Some(Value::from(max))));
            }
            (Some(old), new) if new.is_none_or(|new| new > old) => {
                let what = match new {
                    Some(max) => format!("may now have {}", characters(max)),
                    None => "may now be of any length".to_owned(),
                };
                self.loosened(&rules::MAX_LENGTH_LOOSENED, what, Some(old), new);
            }
            _ => {}
        }
    }

    fn length(
        &mut self,
        rule: &'static Rule,
        what: String,
        (was, is): (u64, u64),
        before: &Facts<'a>,
        refused: Span,
        applies: bool,
    ) {
        let draft = self.length_draft(rule, what, before, refused, applies);
        self.push(draft.values((was > 0).then(|| Value::from(was)), Some(Value::from(is))));
    }

    #[allow(clippy::unused_self, reason = "reads beside its siblings")]
    fn length_draft(
        &self,
        rule: &'static Rule,
        what: String,
        before: &Facts<'a>,
        refused: Span,
        applies: bool,
    ) -> Draft<'a> {
        let draft = Draft::new(rule, what).follows("any other text is refused").effect(Effect::Refused);
        if !applies {
            return draft.harmless("it applies to text only");
        }
        let fits = |text: &str| refused.contains(u64::try_from(text.chars().count()).unwrap_or(u64::MAX));
        match listed(before, |text| fits(text)) {
            Some(found) if found.is_empty() => draft.harmless("every listed value fits"),
            Some(found) => draft.probe(Probe::Values(found)),
            None => {
                let with = before.patterns.iter().copied().collect();
                match text::find(&Wanted { with, without: None, length: refused }) {
                    Search::Found(text) => draft.probe(Probe::Values(vec![Value::from(text)])),
                    Search::Impossible => draft.harmless("no text of that length was ever allowed"),
                    Search::Unknown => draft.probe(Probe::Any),
                }
            }
        }
    }

    pub(super) fn loosened(&mut self, rule: &'static Rule, what: String, old: Option<u64>, new: Option<u64>) {
        let draft = Draft::new(rule, what)
            .values(old.map(Value::from), new.map(Value::from))
            .follows("what was written stays valid");
        self.push(draft);
    }

    fn patterns(&mut self, before: &Facts<'a>, after: &Facts<'a>, applies: bool) {
        if before.patterns == after.patterns {
            return;
        }
        let fresh: Vec<&str> = after.patterns.difference(&before.patterns).copied().collect();
        let gone: Vec<&str> = before.patterns.difference(&after.patterns).copied().collect();
        let old = gone.first().map(|pattern| Value::from(*pattern));
        for pattern in &fresh {
            let (rule, what) = if gone.is_empty() {
                (&rules::PATTERN_ADDED, format!("must now match {pattern}"))
            } else {
                (
                    &rules::PATTERN_CHANGED,
                    format!("must now match {pattern} instead of {}", gone.join(" and ")),
                )
            };
            let draft = Draft::new(rule, what)
                .values(old.clone(), Some(Value::from(*pattern)))
                .follows("text that does not match is refused")
                .effect(Effect::Refused);
            self.push(if applies {
                pattern_proof(draft, before, pattern)
            } else {
                draft.harmless("it applies to text only")
            });
        }
        if fresh.is_empty() {
            let draft = Draft::new(
                &rules::PATTERN_REMOVED,
                format!("need not match {} any more", gone.join(" and ")),
            )
            .values(old, None)
            .follows("what was written stays valid");
            self.push(draft);
        }
    }

    fn formats(&mut self, before: &Facts<'a>, after: &Facts<'a>) {
        let (was, is) = (checked(before), checked(after));
        if before.formats == after.formats {
            return;
        }
        let written = |facts: &Facts<'_>| facts.formats.first().map(|format| Value::from(*format));
        let name = |facts: &Facts<'a>| facts.formats.first().copied().unwrap_or_default();
        let rule = match (before.formats.is_empty(), after.formats.is_empty()) {
            (true, _) => &rules::FORMAT_ADDED,
            (false, true) => &rules::FORMAT_REMOVED,
            (false, false) => &rules::FORMAT_CHANGED,
        };
        let what = match after.formats.first() {
            Some(format) => format!("has the format {format} now"),
            None => format!("has no format any more, it was {}", name(before)),
        };
        let draft = Draft::new(rule, what)
            .values(written(before), written(after))
            .follows("values of another form are refused")
            .effect(Effect::Refused);
        let draft = if is.is_empty() {
            let why = if was.is_empty() {
                "the API server does not check this format"
            } else {
                "what was written stays valid"
            };
            draft.harmless(why)
        } else if is.iter().all(|format| was.contains(format)) {
            draft.harmless("the API server checks the same as before")
        } else {
            format_proof(draft, before, after)
        };
        // Documentation of a number's width is read by nobody inside a condition.
        if self.mode == Mode::Structure || draft.effect.tightens() {
            self.push(draft);
        }
    }
}

/// Shows that a new pattern refuses something, or that it cannot.
fn pattern_proof<'a>(draft: Draft<'a>, before: &Facts<'a>, pattern: &'a str) -> Draft<'a> {
    let refuses = |text: &str| !matches(pattern, text).unwrap_or(true);
    match listed(before, |text| refuses(text)) {
        Some(found) if found.is_empty() => return draft.harmless("every listed value matches"),
        Some(found) => return draft.probe(Probe::Values(found)),
        None => {}
    }
    let with = before.patterns.iter().copied().collect();
    match text::find(&Wanted { with, without: Some(pattern), length: before.length }) {
        Search::Found(text) => {
            let mut values = vec![Value::from(text)];
            values.extend(FORMAT_SAMPLES.iter().map(|(_, text)| Value::from(*text)));
            draft.probe(Probe::Values(values))
        }
        Search::Impossible => draft.harmless("everything that was allowed matches"),
        Search::Unknown => {
            let guesses = ["", "a", "A", "0", "-", "a b", "é"].into_iter().map(Value::from).collect();
            draft.probe(Probe::Values(guesses))
        }
    }
}

fn format_proof<'a>(draft: Draft<'a>, before: &Facts<'a>, after: &Facts<'a>) -> Draft<'a> {
    if !before.kinds.has(Kinds::STRING) {
        let numbers = Numbers::of(before);
        let limit = if after.formats.contains("int32") { f64::from(i32::MAX) } else { f64::from(f32::MAX) };
        let at = |value: f64| Bound { value, exclusive: false };
        let floor = if after.formats.contains("int32") { f64::from(i32::MIN) } else { -limit };
        return match (numbers.above(at(limit)), numbers.below(at(floor))) {
            (Search::Impossible, Search::Impossible) => draft.harmless("every number that was allowed fits"),
            (above, below) => draft
                .probe(Probe::Values(above.found().into_iter().chain(below.found()).map(to_value).collect())),
        };
    }
    if let Some(values) = listed(before, |_| true) {
        return draft.probe(Probe::Exactly(values)).unproven(Severity::Risky);
    }
    let mut values: Vec<Value> = FORMAT_SAMPLES.iter().map(|(_, text)| Value::from(*text)).collect();
    let with: Vec<&str> = before.patterns.iter().copied().collect();
    values.splice(
        0..0,
        text::find(&Wanted { with, without: None, length: before.length }).found().map(Value::from),
    );
    draft.probe(Probe::Values(values))
}

/// The listed texts for which `wanted` holds, where the place lists its values and they are texts.
fn listed(facts: &Facts<'_>, wanted: impl Fn(&str) -> bool) -> Option<Vec<Value>> {
    let allowed = facts.allowed.as_ref()?;
    let texts = allowed.iter().filter(|value| value.as_str().is_some_and(&wanted));
    Some(texts.filter(|value| may_hold(facts, value)).map(|value| (*value).clone()).collect())
}

/// Whether a pattern is found in a text, as the API server would tell; `None` where that is not known here.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    crate::schema::Pattern::new(pattern).is_match(text).ok()
}

/// The formats of a place that the API server checks.
fn checked<'a>(facts: &Facts<'a>) -> Vec<&'a str> {
    let text = facts.kinds.has(Kinds::STRING);
    let number = facts.kinds.has(Kinds::INTEGER);
    let fraction = facts.kinds.has(Kinds::FRACTION);
    facts
        .formats
        .iter()
        .copied()
        .filter(|format| match *format {
            // Every integer the API server can hold is an int64, and every number a double.
            "int32" => number && !fraction,
            "float" => fraction,
            "password" => false,
            other => text && FORMAT_SAMPLES.iter().any(|(known, _)| *known == other.replace('-', "")),
        })
        .collect()
}

/// The formats the API server checks, without dashes, and a text that has each.
pub(crate) const FORMAT_SAMPLES: [(&str, &str); 24] = [
    ("bsonobjectid", "507f1f77bcf86cd799439011"),
    ("uri", "https://example.com/a"),
    ("email", "someone@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("cidr", "192.0.2.0/24"),
    ("mac", "00:00:5e:00:53:01"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("uuid3", "00000000-0000-3000-8000-000000000000"),
    ("uuid4", "00000000-0000-4000-8000-000000000000"),
    ("uuid5", "00000000-0000-5000-8000-000000000000"),
    ("isbn", "0321751043"),
    ("isbn10", "0321751043"),
    ("isbn13", "978-0321751041"),
    ("creditcard", "4111111111111111"),
    ("ssn", "078-05-1120"),
    ("hexcolor", "#ffffff"),
    ("rgbcolor", "rgb(255,255,255)"),
    ("byte", "YQ=="),
    ("date", "2024-01-01"),
    ("duration", "1s"),
    ("datetime", "2024-01-01T00:00:00Z"),
    ("k8sshortname", "a"),
];

fn characters(count: u64) -> String {
    if count == 1 { "1 character".to_owned() } else { format!("{count} characters") }
}
