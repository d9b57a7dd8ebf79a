//! Copies JSON from a deserializer into compact bytes, leaving the field managers' books out.
//!
//! Objects arrive often and are decoded seldom; building a tree of each only to write it down again would
//! be most of the work of an idle operator.

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Where in an object the copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The object itself.
    Top,
    /// Its metadata.
    Metadata,
    /// The entries of `metadata.annotations`.
    Annotations,
    /// Anything below.
    Below,
}

/// What is left out: it is as large as the object itself, and nothing here reads it.
const MANAGED_FIELDS: &str = "managedFields";
/// A copy of the whole object that `kubectl apply` leaves behind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Copies into `out`.
pub(super) struct Transcode<'a> {
    out: &'a mut Vec<u8>,
    at: At,
}

impl<'a> Transcode<'a> {
    /// Copies a whole object.
    pub(super) fn object(out: &'a mut Vec<u8>) -> Self {
        Self { out, at: At::Top }
    }

    fn write<T: Serialize + ?Sized, E: serde::de::Error>(self, value: &T) -> Result<(), E> {
        serde_json::to_writer(self.out, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Transcode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.out.push(b'[');
        let mut first = true;
        loop {
            let start = self.out.len();
            if !first {
                self.out.push(b',');
            }
            let item = Transcode { out: &mut *self.out, at: At::Below };
            if items.next_element_seed(item)?.is_none() {
                self.out.truncate(start);
                break;
            }
            first = false;
        }
        self.out.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.out.push(b'{');
        let mut first = true;
        while let Some(key) = entries.next_key::<String>()? {
            let below = match (self.at, key.as_str()) {
                (At::Metadata, MANAGED_FIELDS) | (At::Annotations, LAST_APPLIED) => {
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
                (At::Top, "metadata") => At::Metadata,
                (At::Metadata, "annotations") => At::Annotations,
                _ => At::Below,
            };
            if !first {
                self.out.push(b',');
            }
            first = false;
            serde_json::to_writer(&mut *self.out, &key).map_err(serde::de::Error::custom)?;
            self.out.push(b':');
            entries.next_value_seed(Transcode { out: &mut *self.out, at: below })?;
        }
        self.out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn copied(value: &Value) -> Value {
        let mut out = Vec::new();
        let text = value.to_string();
        let mut reader = serde_json::Deserializer::from_str(&text);
        Transcode::object(&mut out).deserialize(&mut reader).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn the_books_of_field_managers_and_kubectls_copy_are_left_out_and_nothing_else() {
        let object = json!({
            "metadata": {
                "name": "a",
                "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}],
                "annotations": {LAST_APPLIED: "{}", "keep": "me"},
            },
            "spec": {"managedFields": [1, 2], "metadata": {"managedFields": true}},
        });
        assert_eq!(
            copied(&object),
            json!({
                "metadata": {"name": "a", "annotations": {"keep": "me"}},
                "spec": {"managedFields": [1, 2], "metadata": {"managedFields": true}},
            })
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_copied_whole(value in value()) {
            let wrapped = json!({"spec": value});
            prop_assert_eq!(copied(&wrapped), wrapped);
        }
    }
}
