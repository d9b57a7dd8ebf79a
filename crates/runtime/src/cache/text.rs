//! The text of an object as it is kept: as it arrived, without the field managers' books.
//!
//! Objects arrive often and are decoded seldom. Nothing is copied but the parts that stay, and nothing but the
//! few facts that are asked of every object is read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// What is left out: it is as large as the object itself, and nothing here reads it.
const MANAGED_FIELDS: &str = "managedFields";
/// A copy of the whole object that `kubectl apply` leaves behind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The few fields that are read of every object; the others are passed over.
#[derive(Deserialize)]
pub(super) struct Facts<'a> {
    #[serde(borrow)]
    pub(super) metadata: Metadata<'a>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(default)]
    pub(super) generation: i64,
    #[serde(default)]
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) finalizers: Option<Vec<Box<str>>>,
    #[serde(default)]
    pub(super) owner_references: Option<Vec<OwnerReference>>,
    #[serde(borrow, default)]
    pub(super) labels: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) annotations: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(object: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(object)
    }

    /// The annotations that somebody may care about.
    pub(super) fn annotations(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let all = self.metadata.annotations.iter().flatten();
        all.map(|(name, value)| (name.as_str(), *value)).filter(|(name, _)| *name != LAST_APPLIED)
    }

    /// The phase in its status; one that is no text is none.
    pub(super) fn phase(&self) -> Option<Box<str>> {
        #[derive(Deserialize)]
        struct Status<'a> {
            #[serde(borrow)]
            phase: Option<&'a RawValue>,
        }
        let status: Status<'_> = serde_json::from_str(self.status?.get()).ok()?;
        serde_json::from_str(status.phase?.get()).ok()
    }

    /// The object without what is left out, and a number that changes with all of it but its version and status.
    pub(super) fn kept(&self, object: &str) -> (Box<str>, u64) {
        let metadata = &self.metadata;
        let books = metadata.managed_fields.map(|value| (MANAGED_FIELDS, value));
        let copy = metadata.annotations.as_ref().and_then(|all| all.get(LAST_APPLIED));
        let out = [books, copy.map(|value| (LAST_APPLIED, *value))];
        let out = out.into_iter().flatten().filter_map(|(name, value)| entry(object, name, value.get()));
        let mut skipped: Vec<(Range<usize>, bool)> = out.map(|place| (place, false)).collect();
        let version = match &metadata.resource_version {
            Cow::Borrowed(version) => place(object, version),
            Cow::Owned(_) => None,
        };
        let status = self.status.and_then(|status| place(object, status.get()));
        skipped.extend([version, status].into_iter().flatten().map(|place| (place, true)));
        skipped.sort_by_key(|(place, _)| place.start);

        // Exactly as long as it gets: what is kept for long should leave no gaps behind.
        let out: usize = skipped.iter().filter(|(_, stays)| !stays).map(|(place, _)| place.len()).sum();
        let mut text = String::with_capacity(object.len().saturating_sub(out));
        let mut hasher = DefaultHasher::new();
        let mut at = 0;
        for (place, stays) in skipped {
            let before = object.get(at..place.start).unwrap_or_default();
            hasher.write(before.as_bytes());
            text.push_str(before);
            if stays {
                text.push_str(object.get(place.clone()).unwrap_or_default());
            }
            at = place.end;
        }
        let rest = object.get(at..).unwrap_or_default();
        hasher.write(rest.as_bytes());
        text.push_str(rest);
        (text.into_boxed_str(), hasher.finish())
    }
}

/// Where a part of the text is in it.
fn place(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

/// Where the entry of a map with that name and value is, with one of the commas beside it; nothing where the name
/// is written in another way, and the entry stays then.
fn entry(whole: &str, name: &str, value: &str) -> Option<Range<usize>> {
    let value = place(whole, value)?;
    let before = whole.get(..value.start)?.trim_end().strip_suffix(':')?.trim_end();
    let before = before.strip_suffix('"')?.strip_suffix(name)?.strip_suffix('"')?.trim_end();
    let after = whole.get(value.end..)?;
    match after.trim_start().strip_prefix(',') {
        Some(after) => Some(before.len()..whole.len() - after.len()),
        None => Some(before.strip_suffix(',').unwrap_or(before).len()..value.end),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn kept(object: &str) -> (Value, u64) {
        let (text, number) = Facts::of(object).unwrap().kept(object);
        (serde_json::from_str(&text).unwrap(), number)
    }

    #[test]
    fn the_books_of_field_managers_and_kubectls_copy_are_left_out_and_nothing_else() {
        let object = json!({
            "metadata": {
                "name": "a",
                "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}],
                "annotations": {LAST_APPLIED: "{\"a\": [\"managedFields\"]}", "keep": "me"},
            },
            "spec": {"managedFields": [1, 2], "metadata": {"managedFields": true}},
        });
        let expected = json!({
            "metadata": {"name": "a", "annotations": {"keep": "me"}},
            "spec": {"managedFields": [1, 2], "metadata": {"managedFields": true}},
        });
        assert_eq!(kept(&object.to_string()).0, expected);
        assert_eq!(kept(&serde_json::to_string_pretty(&object).unwrap()).0, expected);
    }

    #[test]
    fn an_entry_goes_with_a_comma_wherever_it_stands() {
        for (object, left) in [
            (r#"{"metadata":{"managedFields":[]}}"#, r#"{"metadata":{}}"#),
            (r#"{"metadata":{"managedFields":[],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"name":"a","managedFields":[]}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"a":1, "managedFields" : {} , "b":2}}"#, r#"{"metadata":{"a":1,"b":2}}"#),
        ] {
            let (value, _) = kept(object);
            assert_eq!(value, serde_json::from_str::<Value>(left).unwrap(), "{object}");
        }
    }

    #[test]
    fn the_number_changes_with_everything_but_version_status_and_books() {
        let object = json!({
            "metadata": {"name": "a", "resourceVersion": "1", "managedFields": [1], "labels": {"a": "b"}},
            "spec": {"replicas": 1}, "status": {"replicas": 1},
        });
        let number = |pointer: &str, value: Value| {
            let mut other = object.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            kept(&other.to_string()).1
        };
        let same = kept(&object.to_string()).1;
        assert_eq!(number("/metadata/resourceVersion", json!("22")), same);
        assert_eq!(number("/metadata/managedFields", json!([2, 3])), same);
        assert_eq!(number("/status", json!({"replicas": 2})), same);
        assert_ne!(number("/spec/replicas", json!(2)), same);
        assert_ne!(number("/metadata/labels/a", json!("c")), same);
        assert_ne!(number("/metadata/name", json!("b")), same);
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
        fn whatever_arrives_is_kept_whole(spec in value(), status in value(), books in value()) {
            let mut object = json!({
                "metadata": {"name": "a", "managedFields": books, "resourceVersion": "1"},
                "spec": spec, "status": status,
            });
            let (kept, _) = kept(&object.to_string());
            // Where there are none, nothing has to be left out.
            if !object["metadata"]["managedFields"].is_null() {
                object["metadata"].as_object_mut().unwrap().remove("managedFields");
            }
            prop_assert_eq!(kept, object);
        }
    }
}
