//! helm's own records of a release: one Secret for each revision.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use slipway_domain::rollout::Revision;
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::{Api, quoted};
use super::fault::Fault;
use crate::releases::decode;

/// The record of one revision, as far as its labels tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its number.
    pub(crate) number: u32,
    /// helm's word for how far it came.
    pub(crate) status: String,
    /// The name of its Secret.
    pub(crate) secret: String,
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
}

impl Record {
    /// Whether helm is at it, or was ended while it was.
    pub(crate) fn is_pending(&self) -> bool {
        self.status.starts_with("pending") || self.status == "uninstalling"
    }

    /// What observations belong to.
    pub(crate) fn revision(&self, release: &ReleaseAt) -> Revision {
        Revision(format!("{}/{}.v{}", release.namespace, release.name, self.number))
    }
}

fn path(release: &ReleaseAt, secret: &str) -> String {
    format!("/api/v1/namespaces/{}/secrets/{secret}", release.namespace)
}

/// All revisions of a release, the oldest first; without what is in them.
pub(crate) async fn list(api: &Api, release: &ReleaseAt) -> Result<Vec<Record>, Fault> {
    let selector = quoted(&format!("owner=helm,name={}", release.name));
    let path = format!("/api/v1/namespaces/{}/secrets?labelSelector={selector}", release.namespace);
    let mut records: Vec<Record> = api
        .list_metadata(&path)
        .await?
        .into_iter()
        .filter_map(|item| {
            let metadata = item.get("metadata")?;
            let labels: BTreeMap<String, String> =
                serde_json::from_value(metadata.get("labels")?.clone()).ok()?;
            Some(Record {
                number: labels.get("version")?.parse().ok()?,
                status: labels.get("status").cloned().unwrap_or_default(),
                secret: metadata.get("name")?.as_str()?.to_owned(),
                labels,
            })
        })
        .collect();
    records.sort_by_key(|record| record.number);
    Ok(records)
}

/// The newest revision, where there is one.
pub(crate) async fn newest(api: &Api, release: &ReleaseAt) -> Result<Option<Record>, Fault> {
    Ok(list(api, release).await?.pop())
}

/// What helm wrote down of a revision.
pub(crate) async fn read(api: &Api, release: &ReleaseAt, record: &Record) -> Result<Value, Fault> {
    let secret = api.get(&path(release, &record.secret)).await?;
    content(&secret).map_err(|why| unreadable(record, &why))
}

/// Its manifest.
pub(crate) async fn manifest(api: &Api, release: &ReleaseAt, record: &Record) -> Result<String, Fault> {
    let stored = read(api, release, record).await?;
    Ok(stored.get("manifest").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Removes the record of a revision: helm goes on from the one before.
pub(crate) async fn forget(api: &Api, release: &ReleaseAt, record: &Record) -> Result<(), Fault> {
    Ok(api.delete(&path(release, &record.secret)).await.map(drop)?)
}

/// Changes what helm wrote down of a revision; nothing is written where `change` says that nothing changed.
pub(crate) async fn rewrite(
    api: &Api,
    release: &ReleaseAt,
    record: &Record,
    change: impl Fn(&mut Value) -> bool,
) -> Result<(), Fault> {
    let path = path(release, &record.secret);
    let mut secret = api.get(&path).await?;
    let mut stored = content(&secret).map_err(|why| unreadable(record, &why))?;
    if !change(&mut stored) {
        return Ok(());
    }
    let status = stored.pointer("/info/status").and_then(Value::as_str).unwrap_or_default().to_owned();
    let packed = packed(&stored).map_err(|why| unreadable(record, &why))?;
    secret["data"]["release"] = STANDARD.encode(packed).into();
    secret["metadata"]["labels"]["status"] = status.into();
    // The version that was read comes along, so a write of helm in between is not undone.
    Ok(api.put(&path, &secret).await.map(drop)?)
}

/// Sets how far a revision came.
pub(crate) fn set_status(stored: &mut Value, status: &str) -> bool {
    let there = stored.pointer("/info/status").and_then(Value::as_str);
    if there == Some(status) {
        return false;
    }
    stored["info"]["status"] = json!(status);
    true
}

fn content(secret: &Value) -> Result<Value, String> {
    let outer = secret.pointer("/data/release").and_then(Value::as_str).ok_or("it holds no release")?;
    let inner = STANDARD.decode(outer).map_err(|_| "it is not in base64".to_owned())?;
    decode::release(&inner)
}

fn packed(stored: &Value) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(stored.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let bytes = encoder.finish().map_err(|error| error.to_string())?;
    Ok(STANDARD.encode(bytes).into_bytes())
}

fn unreadable(record: &Record, why: &str) -> Fault {
    Fault::Failed(format!("helm's record {} cannot be used: {why}", record.secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_again() {
        let stored = json!({"name": "web", "info": {"status": "failed"}, "manifest": "a: {{ 1 }}\n"});
        let secret = json!({"data": {"release": STANDARD.encode(packed(&stored).unwrap())}});
        assert_eq!(content(&secret).unwrap(), stored);
        let mut changed = stored.clone();
        assert!(set_status(&mut changed, "deployed") && !set_status(&mut changed, "deployed"));
        assert_eq!(changed["info"]["status"], "deployed");
    }
}
