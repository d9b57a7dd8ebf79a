//! Paths to fields, written as the API server writes them.

use std::fmt;

/// A path that grows and shrinks with a walk, without a new string for every step.
#[derive(Debug, Default, Clone)]
pub(crate) struct FieldPath {
    text: String,
}

impl FieldPath {
    pub(crate) fn new(text: impl Into<String>) -> FieldPath {
        FieldPath { text: text.into() }
    }

    /// Steps into a field; what is returned goes to [`FieldPath::cut`].
    pub(crate) fn push_key(&mut self, key: &str) -> usize {
        let mark = self.text.len();
        if mark > 0 {
            self.text.push('.');
        }
        self.text.push_str(key);
        mark
    }

    /// Steps into the value behind a key of a map.
    pub(crate) fn push_map_key(&mut self, key: &str) -> usize {
        let mark = self.text.len();
        self.text.push('[');
        self.text.push_str(key);
        self.text.push(']');
        mark
    }

    /// Steps into an item of a list.
    pub(crate) fn push_index(&mut self, index: usize) -> usize {
        self.push_map_key(&index.to_string())
    }

    /// Steps back to where the path was.
    pub(crate) fn cut(&mut self, mark: usize) {
        self.text.truncate(mark);
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The path of a field below this one.
    pub(crate) fn child(&self, key: &str) -> String {
        if self.text.is_empty() { key.to_owned() } else { format!("{}.{key}", self.text) }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
