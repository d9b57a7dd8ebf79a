//! Conversion between the versions of a kind.
//!
//! Every version converts to the hub, the version that is stored, and back; any two versions meet
//! there. Metadata belongs to the API server and passes untouched, but for labels and annotations.

mod review;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::admission::panic_text;
use super::decode::decode;

pub(crate) use review::answer;

type Converter = Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>;

/// How the versions of one kind become one another.
#[derive(Clone)]
#[must_use]
pub struct Conversions {
    group: String,
    kind: String,
    hub: String,
    versions: BTreeMap<String, Spoke>,
}

#[derive(Clone)]
struct Spoke {
    to_hub: Converter,
    from_hub: Converter,
}

impl Conversions {
    /// Conversions of a kind whose stored version, the hub, is this one.
    pub fn new(group: impl Into<String>, kind: impl Into<String>, hub: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into(), hub: hub.into(), versions: BTreeMap::new() }
    }

    /// Conversions whose hub is this type.
    pub fn hub<Hub: Resource<DynamicType = ()>>() -> Self {
        Self::new(Hub::group(&()), Hub::kind(&()), Hub::version(&()))
    }

    /// How a version becomes the hub and comes from it, as JSON. The runtime sets `apiVersion` and
    /// carries the metadata over; a converter may change labels and annotations.
    pub fn version(
        mut self,
        version: impl Into<String>,
        to_hub: impl Fn(Value) -> Result<Value, String> + Send + Sync + 'static,
        from_hub: impl Fn(Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        self.versions
            .insert(version.into(), Spoke { to_hub: Arc::new(to_hub), from_hub: Arc::new(from_hub) });
        self
    }

    /// The same with types. Fields that a type does not know are lost in conversion, so the types
    /// must cover their schemas.
    pub fn typed<Version, Hub, ToError, FromError>(
        self,
        to_hub: impl Fn(Version) -> Result<Hub, ToError> + Send + Sync + 'static,
        from_hub: impl Fn(Hub) -> Result<Version, FromError> + Send + Sync + 'static,
    ) -> Self
    where
        Version: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
        Hub: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
        ToError: fmt::Display + 'static,
        FromError: fmt::Display + 'static,
    {
        self.version(Version::version(&()), through(to_hub), through(from_hub))
    }

    /// The group of the kind.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// One object in another version of its group.
    pub fn convert(&self, object: &Value, to: &str) -> Result<Value, String> {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let from = api_version
            .strip_prefix(self.group.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .ok_or_else(|| format!("{api_version:?} is not a version of {}", self.group))?;
        if from == to {
            return Ok(object.clone());
        }
        let at_hub = match self.spoke(from)? {
            Some(spoke) => self.apply(&spoke.to_hub, object, &self.hub)?,
            None => object.clone(),
        };
        match self.spoke(to)? {
            Some(spoke) => self.apply(&spoke.from_hub, &at_hub, to),
            None => Ok(at_hub),
        }
    }

    /// The converters of a version; none for the hub itself.
    fn spoke(&self, version: &str) -> Result<Option<&Spoke>, String> {
        if version == self.hub {
            return Ok(None);
        }
        self.versions.get(version).map(Some).ok_or_else(|| {
            let mut known: Vec<&str> = self.versions.keys().map(String::as_str).collect();
            known.push(&self.hub);
            format!(
                "{} {} has no version {version:?} here; there are {}",
                self.group,
                self.kind,
                known.join(", ")
            )
        })
    }

    fn apply(&self, convert: &Converter, object: &Value, version: &str) -> Result<Value, String> {
        let mut converted =
            catch_unwind(AssertUnwindSafe(|| convert(object.clone()))).map_err(|panic| {
                format!("the conversion to {version} panicked: {}", panic_text(panic.as_ref()))
            })??;
        let kind = object.get("kind").cloned().unwrap_or_else(|| self.kind.clone().into());
        let metadata = metadata(object.get("metadata"), converted.get("metadata"));
        let Some(fields) = converted.as_object_mut() else {
            return Err(format!("the conversion to {version} gave no object"));
        };
        fields.insert("apiVersion".into(), format!("{}/{version}", self.group).into());
        fields.insert("kind".into(), kind);
        fields.insert("metadata".into(), metadata);
        Ok(converted)
    }
}

impl fmt::Debug for Conversions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Conversions")
            .field("group", &self.group)
            .field("kind", &self.kind)
            .field("hub", &self.hub)
            .field("versions", &self.versions.keys())
            .finish()
    }
}

fn through<From: DeserializeOwned, To: Serialize, Error: fmt::Display>(
    convert: impl Fn(From) -> Result<To, Error>,
) -> impl Fn(Value) -> Result<Value, String> {
    move |object| {
        let from = decode::<From>(&object).map_err(|denial| denial.to_string())?;
        let to = convert(from).map_err(|error| error.to_string())?;
        serde_json::to_value(to).map_err(|error| format!("the result cannot be written: {error}"))
    }
}

/// The metadata as it was; labels and annotations as the converter set them, if it set them at all.
fn metadata(original: Option<&Value>, converted: Option<&Value>) -> Value {
    let mut metadata = original.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    for key in ["labels", "annotations"] {
        if let Some(set) = converted.and_then(|converted| converted.get(key)).filter(|set| set.is_object()) {
            metadata[key] = set.clone();
        }
    }
    metadata
}

#[cfg(test)]
mod tests;
