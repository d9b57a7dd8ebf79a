//! Which news about an object are worth a turn.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::Change;

/// Which news are worth a turn.
#[derive(Clone)]
pub struct Predicate(Arc<dyn Fn(&Change) -> bool + Send + Sync>);

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

impl Default for Predicate {
    /// Everything but the status.
    fn default() -> Self {
        Self::generation().or(Self::labels()).or(Self::annotations())
    }
}

impl Predicate {
    /// Whatever a function says.
    pub fn new(wanted: impl Fn(&Change) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(wanted))
    }

    /// Any news at all.
    pub fn any() -> Self {
        Self::new(|_| true)
    }

    /// What is wanted changed, or its deletion was asked for.
    pub fn generation() -> Self {
        turned(|meta| (meta.generation, meta.deleting, meta.finalizers.len()))
    }

    /// Its labels changed.
    pub fn labels() -> Self {
        turned(|meta| meta.labels)
    }

    /// Its annotations changed.
    pub fn annotations() -> Self {
        turned(|meta| meta.annotations)
    }

    /// Everything but its status changed: for kinds whose generation says nothing, and for children whose
    /// status nobody reads.
    pub fn content() -> Self {
        turned(|meta| meta.content)
    }

    /// What `T` reads of it changed. `T` has the fields that matter, and serde passes over the others.
    pub fn part<T: DeserializeOwned + PartialEq>() -> Self {
        Self::new(|change| match (&change.before, &change.after) {
            (Some(before), Some(after)) => match (before.decode::<T>(), after.decode::<T>()) {
                (Ok(before), Ok(after)) => before != after,
                // Whoever reads it shall see that it cannot be read.
                _ => true,
            },
            _ => true,
        })
    }

    /// This or that.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |change| self.holds(change) || other.holds(change))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |change| self.holds(change) && other.holds(change))
    }

    /// Whether it holds.
    pub fn holds(&self, change: &Change) -> bool {
        (self.0)(change)
    }
}

/// Whether a fact about the object is another than before; an object that came, went or was replaced by one
/// of the same name is news in every respect.
fn turned<T: PartialEq>(fact: impl Fn(&crate::cache::Meta) -> T + Send + Sync + 'static) -> Predicate {
    Predicate::new(move |change| match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            before.meta().uid != after.meta().uid || fact(before.meta()) != fact(after.meta())
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::Held;

    fn change(before: &Value, after: &Value) -> Change {
        let held = |value: &Value| Some(Arc::new(Held::from_json(&value.to_string()).unwrap()));
        Change { before: held(before), after: held(after), listed: false }
    }

    fn object(generation: i64, label: &str, annotation: &str, status: &str) -> Value {
        json!({
            "metadata": {
                "name": "a", "uid": "u", "generation": generation,
                "labels": {"l": label}, "annotations": {"a": annotation},
            },
            "status": {"phase": status},
        })
    }

    #[test]
    fn each_predicate_hears_its_own_news_only() {
        let old = object(1, "x", "x", "x");
        let cases = [
            (object(2, "x", "x", "x"), [true, false, false, true]),
            (object(1, "y", "x", "x"), [false, true, false, true]),
            (object(1, "x", "y", "x"), [false, false, true, true]),
            (object(1, "x", "x", "y"), [false, false, false, false]),
        ];
        for (new, expected) in cases {
            let change = change(&old, &new);
            let heard = [
                Predicate::generation(),
                Predicate::labels(),
                Predicate::annotations(),
                Predicate::default(),
            ]
            .map(|predicate| predicate.holds(&change));
            assert_eq!(heard, expected, "{new}");
        }
    }

    #[test]
    fn another_object_of_the_same_name_is_news() {
        let old = object(1, "x", "x", "x");
        let mut new = old.clone();
        new["metadata"]["uid"] = json!("other");
        assert!(Predicate::labels().holds(&change(&old, &new)));
    }

    #[test]
    fn content_is_all_but_the_status_and_a_part_is_what_is_read() {
        #[derive(PartialEq, serde::Deserialize)]
        struct Read {
            status: Phase,
        }
        #[derive(PartialEq, serde::Deserialize)]
        struct Phase {
            phase: String,
        }
        let old = object(1, "x", "x", "x");
        let mut data = old.clone();
        data["data"] = json!({"a": "b"});
        let mut count = old.clone();
        count["status"]["count"] = json!(3);
        for (new, content, part) in [
            (&data, true, false),
            (&count, false, false),
            (&object(1, "x", "x", "y"), false, true),
            (&object(2, "x", "x", "x"), true, false),
            (&json!({"metadata": {"name": "a", "uid": "u"}}), true, true),
        ] {
            let change = change(&old, new);
            let heard = (Predicate::content().holds(&change), Predicate::part::<Read>().holds(&change));
            assert_eq!(heard, (content, part), "{new}");
        }
    }
}
