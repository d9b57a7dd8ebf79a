//! Reads an object field by field, so that everything wrong with it is said at once.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problems;

/// An object that is being read.
#[derive(Debug)]
pub struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    known: BTreeSet<&'static str>,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    /// Of a value, which has to be an object.
    pub fn of(value: &'a Value, problems: &'a mut Problems) -> Self {
        let map = value.as_object();
        if map.is_none() {
            problems.add("", "has to be an object");
        }
        Self { map, known: BTreeSet::new(), problems }
    }

    /// A field that has to be there.
    pub fn required<T: DeserializeOwned>(&mut self, key: &'static str) -> Option<T> {
        match self.raw(key) {
            None if self.map.is_some() => {
                self.problems.add(key, "is missing");
                None
            }
            None => None,
            Some(value) => self.typed(key, value),
        }
    }

    /// A field that may be left out; null is as good as nothing.
    pub fn optional<T: DeserializeOwned>(&mut self, key: &'static str) -> Option<T> {
        let value = self.raw(key)?;
        self.typed(key, value)
    }

    /// A list of objects, each read by itself; nothing where the field is left out.
    pub fn each<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&Value) -> Result<T, Problems>,
    ) -> Vec<T> {
        let Some(value) = self.raw(key) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.problems.add(key, "has to be a list");
            return Vec::new();
        };
        let mut found = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read(item) {
                Ok(item) => found.push(item),
                Err(inner) => self.problems.nest(&format!("{key}[{index}]"), inner),
            }
        }
        found
    }

    /// An object inside; nothing where the field is left out.
    pub fn inner<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value) -> Result<T, Problems>,
    ) -> Option<T> {
        let value = self.raw(key)?;
        match read(value) {
            Ok(found) => Some(found),
            Err(inner) => {
                self.problems.nest(key, inner);
                None
            }
        }
    }

    /// Names every field that nobody asked for.
    pub fn end(self) {
        let Some(map) = self.map else { return };
        for key in map.keys().filter(|key| !self.known.contains(key.as_str())) {
            let near = self.known.iter().find(|known| alike(known, key));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            self.problems.add(key.clone(), format!("is not a field here{hint}"));
        }
    }

    fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.insert(key);
        self.map?.get(key).filter(|value| !value.is_null())
    }

    fn typed<T: DeserializeOwned>(&mut self, key: &'static str, value: &Value) -> Option<T> {
        self.problems.take(key, T::deserialize(value))
    }
}

/// Whether one may be meant by the other: the same but for case, or for a letter or two in a long word.
fn alike(known: &str, written: &str) -> bool {
    let (known, written) = (known.to_lowercase(), written.to_lowercase());
    let few = (known.len() / 3).min(2);
    known.len().abs_diff(written.len()) <= few && distance(known.as_bytes(), written.as_bytes()) <= few
}

fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut corner = i;
        let mut before = i + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(b) {
            let change = corner + usize::from(left != right);
            corner = *cell;
            before = change.min(corner + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_is_read_and_every_problem_said() {
        let value = json!({"size": "big", "label": {}, "items": [{"a": 1}, {"b": 1}]});
        let mut problems = Problems::new();
        let mut fields = Fields::of(&value, &mut problems);
        assert_eq!(fields.required::<u8>("size"), None);
        assert_eq!(fields.optional::<String>("labels"), None);
        assert_eq!(fields.required::<u8>("count"), None);
        let items = fields.each("items", |item| {
            let mut problems = Problems::new();
            let mut fields = Fields::of(item, &mut problems);
            let a: Option<u8> = fields.required("a");
            fields.end();
            problems.or(a)
        });
        assert_eq!(items, [Some(1)]);
        fields.end();
        assert_eq!(
            problems.to_string(),
            "size invalid type: string \"big\", expected u8; count is missing; items[1].a is missing; \
             items[1].b is not a field here; label is not a field here; did you mean labels?"
        );
    }
}
