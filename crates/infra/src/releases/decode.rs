//! What helm keeps of a release: base64, gzip, JSON. The same for helm 3 and 4.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A Secret holds 1 MB at most; what it unpacks to is bounded here.
const MOST: u64 = 64 << 20;

/// A release, as far as it is of interest.
#[derive(Debug, Deserialize)]
pub(super) struct Release {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) info: Info,
    pub(super) chart: Chart,
    /// What somebody gave; may be `null`.
    #[serde(default)]
    pub(super) config: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) manifest: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Info {
    #[serde(default)]
    pub(super) last_deployed: Option<String>,
    #[serde(default)]
    pub(super) status: String,
}

impl Info {
    /// When it was last changed.
    pub(super) fn deployed_at(&self) -> Option<Timestamp> {
        self.last_deployed.as_deref().and_then(|text| text.parse().ok())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Chart {
    pub(super) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(default)]
    pub(super) app_version: Option<String>,
}

/// Reads the content of a release's Secret, or as much of it as somebody wants. The reason of a failure
/// holds nothing of the content.
pub(crate) fn release<T: DeserializeOwned>(content: &[u8]) -> Result<T, String> {
    let packed: Vec<u8> = content.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(packed).map_err(|_| "it is not in base64".to_owned())?;
    let text = if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        unpacked(&bytes, MOST)?
    } else {
        // Very old releases are not packed.
        bytes
    };
    serde_json::from_slice(&text).map_err(|error| {
        // Only where, not what: values may be secret.
        format!("it is not as helm writes it (line {}, column {})", error.line(), error.column())
    })
}

fn unpacked(bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    GzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut text)
        .map_err(|_| "it cannot be unpacked".to_owned())?;
    if text.len() as u64 > most {
        return Err("it is larger than a release can be".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::json;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        STANDARD.encode(encoder.finish().unwrap()).into_bytes()
    }

    #[test]
    fn a_release_is_read_packed_or_not() {
        let value = json!({
            "name": "web", "namespace": "apps", "version": 3, "manifest": "---\n", "config": null,
            "info": {"status": "deployed", "last_deployed": "2024-05-06T07:08:09.5+02:00"},
            "chart": {"metadata": {"name": "greeter", "version": "1.2.3", "appVersion": "7"}, "templates": []},
        })
        .to_string();
        for content in [packed(value.as_bytes()), STANDARD.encode(&value).into_bytes()] {
            let read: Release = release(&content).unwrap();
            assert_eq!((read.name.as_str(), read.version, read.config.is_none()), ("web", 3, true));
            assert_eq!(read.info.deployed_at().unwrap().to_string(), "2024-05-06T05:08:09.5Z");
            assert_eq!(read.chart.metadata.app_version.as_deref(), Some("7"));
        }
    }

    #[test]
    fn what_is_no_release_is_refused_without_quoting_it() {
        for bad in [
            &b"%%%"[..],
            &packed(b"{\"name\": \"hunter2\"}"),
            &STANDARD.encode(b"\x1f\x8b\x08 broken").into_bytes(),
        ] {
            let why = release::<Release>(bad).unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
        let small = STANDARD.decode(packed(&[b' '; 1000])).unwrap();
        assert_eq!(unpacked(&small, 1000).unwrap().len(), 1000);
        assert_eq!(unpacked(&small, 999).unwrap_err(), "it is larger than a release can be");
    }
}
