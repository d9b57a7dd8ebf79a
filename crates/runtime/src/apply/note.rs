//! The note on a child that says what was last wanted of it, and how it came to be.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What is written into the annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// Whether the child was created by `POST` and the API server still keeps the fields of that under a
    /// name of their own, so that leaving one out of an apply does not remove it.
    pub(super) created: bool,
    hash: String,
}

impl Note {
    /// The note for a child that is wanted like this.
    pub(super) fn of(wanted: &Value, created: bool) -> Self {
        let digest = Sha256::digest(wanted.to_string());
        let start: [u8; 8] = std::array::from_fn(|index| digest[index]);
        Self { created, hash: format!("{:016x}", u64::from_be_bytes(start)) }
    }

    /// Reads one; anything else is none, and the child is applied.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, hash) = text.split_once(':')?;
        let created = match kind {
            "created" => true,
            "applied" => false,
            _ => return None,
        };
        Some(Self { created, hash: hash.to_owned() })
    }

    /// Whether both want the same, however it came about.
    pub(super) fn wants_the_same(&self, other: &Self) -> bool {
        self.hash == other.hash
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        format!("{}:{}", if self.created { "created" } else { "applied" }, self.hash)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_is_read_back_and_differs_with_what_is_wanted() {
        let note = Note::of(&json!({"a": 1}), true);
        assert_eq!(Note::parse(&note.text()), Some(note.clone()));
        assert!(note.wants_the_same(&Note::of(&json!({"a": 1}), false)));
        assert!(!note.wants_the_same(&Note::of(&json!({"a": 2}), true)));
        assert_eq!(Note::parse("else"), None);
    }
}
