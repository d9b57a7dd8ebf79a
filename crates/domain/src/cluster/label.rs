//! Labels: words that people put on things and choose by, as Kubernetes writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::problem::Problems;

/// How many labels a thing may have.
const MOST: usize = 64;

/// Labels that are as Kubernetes wants them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// As given, or everything that is wrong with them, by key.
    pub fn new(given: &BTreeMap<String, String>) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        if given.len() > MOST {
            problems.add("", format!("are more than {MOST}"));
        }
        for (key, value) in given {
            if !is_key(key) {
                problems.add(
                    short(key),
                    "is not the key of a label: letters, digits, '-', '_' and '.', 63 at most, \
                     after an optional prefix such as example.com/",
                );
            }
            if !(value.is_empty() || is_word(value)) {
                problems.add(
                    short(key),
                    "has to be letters, digits, '-', '_' and '.', 63 at most, \
                     with a letter or digit at both ends",
                );
            }
        }
        problems.or(Self(given.clone()))
    }

    /// Whether a label is there with that value.
    pub fn has(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_some_and(|there| there == value)
    }

    /// All, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// As a map.
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Reads `key=value`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not key=value"))?;
    let labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    Labels::new(&labels).map_err(|problems| problems.to_string())?;
    Ok((key.to_owned(), value.to_owned()))
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_word(key),
        Some((prefix, name)) => is_domain(prefix) && is_word(name),
    }
}

fn is_word(text: &str) -> bool {
    let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63
        && end(text.as_bytes().first())
        && end(text.as_bytes().last())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_domain(text: &str) -> bool {
    let end = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
    text.len() <= 253
        && text.split('.').all(|part| {
            end(part.as_bytes().first())
                && end(part.as_bytes().last())
                && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        })
}

/// A key in an error, which may be anything.
fn short(key: &str) -> String {
    key.chars().filter(|character| !character.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_as_kubernetes_wants_them() {
        for good in ["team=core", "example.com/tier=Gold_1.x", "a=", "9=9"] {
            pair(good).unwrap();
        }
        for bad in ["team", "=x", "-a=b", "a b=c", "a=b c", "a=-", "Example.com/a=b", "a/b/c=d", "/a=b"] {
            pair(bad).unwrap_err();
        }
        let many = BTreeMap::from([
            ("fine".to_owned(), "yes".to_owned()),
            ("no way".to_owned(), "ok".to_owned()),
            ("long".to_owned(), "x".repeat(64)),
        ]);
        let problems = Labels::new(&many).unwrap_err();
        let places: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(places, ["long", "no way"], "all at once, by key");
    }
}
