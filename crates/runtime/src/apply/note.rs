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
    /// Of the fields that were wanted, whatever their values; older notes lack it.
    fields: Option<String>,
}

impl Note {
    /// The note for a child that is wanted like this.
    pub(super) fn of(wanted: &Value, created: bool) -> Self {
        let mut fields = Sha256::new();
        add_fields(&mut fields, wanted, false);
        Self {
            created,
            hash: start(&Sha256::digest(wanted.to_string())),
            fields: Some(start(&fields.finalize())),
        }
    }

    /// Reads one; anything else is none, and the child is applied.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, hashes) = text.split_once(':')?;
        let created = match kind {
            "created" => true,
            "applied" => false,
            _ => return None,
        };
        let (hash, fields) = match hashes.split_once('-') {
            Some((hash, fields)) => (hash, Some(fields.to_owned())),
            None => (hashes, None),
        };
        Some(Self { created, hash: hash.to_owned(), fields })
    }

    /// Whether both want the same, however it came about.
    pub(super) fn wants_the_same(&self, other: &Self) -> bool {
        self.hash == other.hash
    }

    /// Whether both want the same fields, though perhaps with other values: then an apply leaves none behind.
    pub(super) fn wants_the_same_fields(&self, other: &Self) -> bool {
        self.fields.is_some() && self.fields == other.fields
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        match &self.fields {
            // Only what was created can leave something behind.
            Some(fields) if self.created => format!("created:{}-{fields}", self.hash),
            _ => format!("{}:{}", if self.created { "created" } else { "applied" }, self.hash),
        }
    }
}

/// The start of a digest, long enough to tell two wishes apart.
fn start(digest: &[u8]) -> String {
    digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// What can be changed in an item of a list that has a name without making it another item.
const NEVER_A_KEY: [&str; 2] = ["image", "value"];

/// Adds the names of all fields; in a list the values too, since any of them may be what tells its items
/// apart.
fn add_fields(digest: &mut Sha256, value: &Value, in_list: bool) {
    match value {
        Value::Object(fields) => {
            let named = fields.contains_key("name");
            digest.update("{");
            for (name, value) in fields {
                digest.update(Value::from(name.as_str()).to_string());
                add_fields(digest, value, in_list && !(named && NEVER_A_KEY.contains(&name.as_str())));
            }
            digest.update("}");
        }
        Value::Array(items) => {
            digest.update("[");
            for item in items {
                add_fields(digest, item, true);
            }
            digest.update("]");
        }
        scalar if in_list => digest.update(format!(",{scalar}")),
        // Null is how a field is left out.
        Value::Null => digest.update(",null"),
        _ => digest.update(","),
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

    #[test]
    fn a_note_tells_other_values_from_other_fields() {
        let pod =
            json!({"replicas": 1, "containers": [{"name": "a", "image": "x:1", "ports": [{"port": 80}]}]});
        let same = |change: &dyn Fn(&mut Value)| {
            let mut other = pod.clone();
            change(&mut other);
            Note::of(&pod, true).wants_the_same_fields(&Note::of(&other, true))
        };
        assert!(same(&|pod| pod["replicas"] = json!(2)));
        assert!(same(&|pod| pod["containers"][0]["image"] = json!("x:2")));
        assert!(!same(&|pod| pod["replicas"] = Value::Null));
        assert!(!same(&|pod| pod["containers"][0]["name"] = json!("b")));
        assert!(!same(&|pod| pod["containers"][0]["ports"][0]["port"] = json!(81)));
        assert!(!same(&|pod| pod["containers"] = json!([])));
        assert!(!same(&|pod| pod["paused"] = json!(true)));
    }

    #[test]
    fn an_older_note_says_nothing_of_the_fields() {
        let note = Note::of(&json!({"a": 1}), true);
        let older = Note::parse(note.text().split_once('-').unwrap().0).unwrap();
        assert!(older.wants_the_same(&note));
        assert!(!older.wants_the_same_fields(&note));
    }
}
