//! Which numbers and listed values a place allows.

use serde_json::Value;

use super::draft::{Draft, Effect, Probe};
use super::walk::Walk;
use crate::domain::Search;
use crate::domain::number::{Numbers, is_multiple, to_value};
use crate::domain::text::{self, Wanted};
use crate::node::{Bound, Facts, Kinds, kind_of_value};
use crate::rules::{self, Rule};

/// How many values a list may have to be tried one by one.
const FEW: usize = 64;

impl<'a> Walk<'a> {
    pub(super) fn enums(&mut self, before: &Facts<'a>, after: &Facts<'a>) {
        match (&before.allowed, &after.allowed) {
            (None, Some(listed)) => self.enum_added(before, listed),
            (Some(listed), None) => {
                let draft = Draft::new(&rules::ENUM_LIFTED, "is no longer limited to listed values")
                    .values(Some(list(listed)), None)
                    .follows("older controllers and readers do not know the others")
                    .effect(Effect::Surprise);
                let same = only_strings(after) && escapes_enum(after, listed) == Search::Impossible;
                self.push(if same { draft.harmless("its pattern allows the same values") } else { draft });
            }
            (Some(was), Some(is)) => self.enum_changed(before, after, was, is),
            (None, None) => {}
        }
    }

    fn enum_added(&mut self, before: &Facts<'a>, listed: &[&'a Value]) {
        let draft = Draft::new(&rules::ENUM_ADDED, format!("must now be one of {}", words(listed)))
            .values(None, Some(list(listed)))
            .follows("any other value is refused")
            .effect(Effect::Refused);
        let outside = |values: Vec<Value>| -> Vec<Value> {
            values.into_iter().filter(|value| !listed.contains(&value)).collect()
        };
        let draft = if before.kinds == Kinds::BOOLEAN {
            match outside(vec![Value::Bool(true), Value::Bool(false)]) {
                left if left.is_empty() => draft.harmless("both values are listed"),
                left => draft.probe(Probe::Values(left)),
            }
        } else if only_strings(before) {
            match escapes_enum(before, listed) {
                Search::Found(text) => draft.probe(Probe::Values(vec![Value::from(text)])),
                Search::Impossible => draft.harmless("the old schema allowed no other value"),
                Search::Unknown => draft.probe(Probe::Any),
            }
        } else if before.kinds == Kinds::INTEGER {
            // One more number than there are values in the list: one of them is not in it.
            let numbers = Numbers::of(before);
            let mut at = numbers.near_zero();
            let mut tried = Vec::new();
            while let Search::Found(number) = at
                && tried.len() <= listed.len()
            {
                tried.push(to_value(number));
                at = numbers.above(Bound { value: number, exclusive: false });
            }
            match outside(tried) {
                left if left.is_empty() && at == Search::Impossible => {
                    draft.harmless("the old schema allowed no other value")
                }
                left if left.is_empty() => draft.probe(Probe::Any),
                left => draft.probe(Probe::Values(left)),
            }
        } else {
            draft.probe(Probe::Any)
        };
        self.push(draft);
    }

    fn enum_changed(&mut self, before: &Facts<'a>, after: &Facts<'a>, was: &[&'a Value], is: &[&'a Value]) {
        let gone: Vec<&Value> = was.iter().copied().filter(|value| !is.contains(value)).collect();
        if !gone.is_empty() {
            let draft = Draft::new(&rules::ENUM_VALUE_REMOVED, format!("may no longer be {}", words(&gone)))
                .values(Some(list(was)), Some(list(is)))
                .follows(if gone.len() == 1 { "that value is refused" } else { "these values are refused" })
                .effect(Effect::Refused);
            let possible: Vec<Value> =
                gone.iter().filter(|value| may_hold(before, value)).map(|value| (*value).clone()).collect();
            let draft = if possible.is_empty() {
                draft.harmless("other rules of the old schema never let it through")
            } else {
                draft.probe(Probe::Values(possible))
            };
            self.push(draft);
        }
        let fresh: Vec<&Value> = is.iter().copied().filter(|value| !was.contains(value)).collect();
        if !fresh.is_empty() {
            let draft = Draft::new(&rules::ENUM_VALUE_ADDED, format!("may now be {}", words(&fresh)))
                .values(Some(list(was)), Some(list(is)))
                .follows("older controllers and readers do not know it")
                .effect(Effect::Surprise);
            let possible = fresh.iter().any(|value| may_hold(after, value));
            self.push(if possible {
                draft
            } else {
                draft.harmless("other rules of the schema do not let it through")
            });
        }
    }

    pub(super) fn numbers(&mut self, before: &Facts<'a>, after: &Facts<'a>) {
        let numeric = Kinds::INTEGER.union(Kinds::FRACTION);
        let applies = before.kinds.and(after.kinds).has(numeric);
        let (was, is) = (Numbers::of(before), Numbers::of(after));
        if before.lower != after.lower {
            let ends = (before.lower, after.lower);
            let escape = ends.1.map_or(Search::Impossible, |bound| {
                finite(before, |number| is.is_below(number)).unwrap_or_else(|| was.below(bound))
            });
            let looser = ends.0.is_none_or(|_| ends.1.is_none())
                || ends.0.is_some_and(|bound| is.below(bound) != Search::Impossible);
            self.bound("minimum", "at least", "more than", ends, applies, escape, looser);
        }
        if before.upper != after.upper {
            let ends = (before.upper, after.upper);
            let escape = ends.1.map_or(Search::Impossible, |bound| {
                finite(before, |number| is.is_above(number)).unwrap_or_else(|| was.above(bound))
            });
            let looser = ends.0.is_none_or(|_| ends.1.is_none())
                || ends.0.is_some_and(|bound| is.above(bound) != Search::Impossible);
            self.bound("maximum", "at most", "less than", ends, applies, escape, looser);
        }
        if before.multiples != after.multiples {
            self.multiples(before, after, applies);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the two ends differ in words only")]
    fn bound(
        &mut self,
        keyword: &str,
        inclusive: &str,
        exclusive: &str,
        (was, is): (Option<Bound>, Option<Bound>),
        applies: bool,
        escape: Search<f64>,
        looser: bool,
    ) {
        let say = |bound: Bound| {
            format!("{} {}", if bound.exclusive { exclusive } else { inclusive }, to_value(bound.value))
        };
        let (tight, loose): (&'static Rule, &'static Rule) = if keyword == "minimum" {
            (&rules::MINIMUM_TIGHTENED, &rules::MINIMUM_LOOSENED)
        } else {
            (&rules::MAXIMUM_TIGHTENED, &rules::MAXIMUM_LOOSENED)
        };
        let values = (was.map(|bound| to_value(bound.value)), is.map(|bound| to_value(bound.value)));
        let draft = match (is, escape) {
            (Some(bound), Search::Found(number)) => Draft::new(tight, format!("must now be {}", say(bound)))
                .follows(match was {
                    Some(was) => format!("it had to be {}, and values between are refused", say(was)),
                    None => "values beyond that are refused".to_owned(),
                })
                .effect(Effect::Refused)
                .probe(Probe::Values(vec![to_value(number)])),
            (Some(bound), Search::Unknown) => Draft::new(tight, format!("must now be {}", say(bound)))
                .follows("values beyond that are refused")
                .effect(Effect::Refused)
                .probe(Probe::Any),
            (Some(bound), Search::Impossible) if looser => {
                Draft::new(loose, format!("need only be {} now", say(bound)))
                    .follows("what was written stays valid")
            }
            (Some(bound), Search::Impossible) => Draft::new(tight, format!("must now be {}", say(bound)))
                .harmless("the same numbers are allowed as before"),
            (None, _) => Draft::new(loose, format!("has no {keyword} any more"))
                .follows("what was written stays valid"),
        };
        let draft = draft.values(values.0, values.1);
        self.push(if applies || !draft.effect.tightens() {
            draft
        } else {
            draft.harmless("it applies to numbers only")
        });
    }

    fn multiples(&mut self, before: &Facts<'a>, after: &Facts<'a>, applies: bool) {
        let values = (numbers_list(&before.multiples), numbers_list(&after.multiples));
        let mut tightened = false;
        for factor in after.multiples.iter().filter(|factor| !before.multiples.contains(factor)) {
            let draft =
                Draft::new(&rules::MULTIPLE_OF_TIGHTENED, format!("must now be a multiple of {factor}"))
                    .values(values.0.clone(), values.1.clone())
                    .follows("values between are refused")
                    .effect(Effect::Refused);
            let escape = finite(before, |number| !is_multiple(number, *factor))
                .unwrap_or_else(|| Numbers::of(before).not_multiple_of(*factor));
            let draft = match escape {
                Search::Found(number) => draft.probe(Probe::Values(vec![to_value(number)])),
                Search::Unknown => draft.probe(Probe::Any),
                Search::Impossible => draft.harmless("every number that was allowed is one"),
            };
            self.push(if applies { draft } else { draft.harmless("it applies to numbers only") });
            tightened = true;
        }
        if !tightened {
            let draft = Draft::new(&rules::MULTIPLE_OF_LOOSENED, "may now lie between the old steps")
                .values(values.0, values.1)
                .follows("what was written stays valid");
            self.push(draft);
        }
    }
}

/// The first listed number that is refused, where the old schema lists its values.
fn finite(before: &Facts<'_>, refused: impl Fn(f64) -> bool) -> Option<Search<f64>> {
    let allowed = before.allowed.as_ref()?;
    let numbers = Numbers::of(before);
    let found = allowed
        .iter()
        .filter_map(|value| value.as_f64())
        .find(|number| numbers.contains(*number) && refused(*number));
    Some(found.map_or(Search::Impossible, Search::Found))
}

/// Whether the place holds texts, and nothing but texts.
pub(super) fn only_strings(facts: &Facts<'_>) -> bool {
    facts.kinds == Kinds::STRING && facts.formats.is_empty()
}

/// A text the facts allow and the list does not hold.
fn escapes_enum(facts: &Facts<'_>, listed: &[&Value]) -> Search<String> {
    if listed.len() > FEW * 8 {
        return Search::Unknown;
    }
    let alternatives: Vec<String> =
        listed.iter().filter_map(|value| value.as_str()).map(regex_syntax::escape).collect();
    let pattern = format!("^(?:{})$", alternatives.join("|"));
    let without = (!alternatives.is_empty()).then_some(pattern.as_str());
    text::find(&Wanted { with: facts.patterns.iter().copied().collect(), without, length: facts.length })
}

/// Whether nothing known forbids the value.
pub(crate) fn may_hold(facts: &Facts<'_>, value: &Value) -> bool {
    let Some(kind) = kind_of_value(value) else { return facts.nullable };
    if !facts.kinds.has(kind) || !facts.lists(value) {
        return false;
    }
    match value {
        Value::String(text) => {
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            facts.length.contains(length)
                && facts.patterns.iter().all(|pattern| super::texts::matches(pattern, text).unwrap_or(true))
        }
        Value::Number(number) => number.as_f64().is_none_or(|number| Numbers::of(facts).contains(number)),
        Value::Array(items) => facts.items.contains(u64::try_from(items.len()).unwrap_or(u64::MAX)),
        Value::Object(fields) => facts.fields.contains(u64::try_from(fields.len()).unwrap_or(u64::MAX)),
        _ => true,
    }
}

fn list(values: &[&Value]) -> Value {
    Value::Array(values.iter().map(|value| (*value).clone()).collect())
}

fn numbers_list(numbers: &[f64]) -> Option<Value> {
    match numbers {
        [] => None,
        [one] => Some(to_value(*one)),
        many => Some(Value::Array(many.iter().copied().map(to_value).collect())),
    }
}

/// Values as people list them; a long list is cut short.
fn words(values: &[&Value]) -> String {
    let shown: Vec<String> = values.iter().take(6).map(ToString::to_string).collect();
    let more = values.len().saturating_sub(shown.len());
    match shown.split_last() {
        Some((last, rest)) if more == 0 && !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ if more > 0 => format!("{} or {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}
