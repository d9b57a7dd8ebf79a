//! An image as an OCI archive: a tar of blobs that are named by their content.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::ensure;
use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::Image;
use super::layer::Layer;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// Not compressed: it goes no further than this machine.
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The documents of an image, made from its content.
pub(super) struct Archive<'a> {
    layer: &'a Layer,
    layer_digest: String,
    layer_size: u64,
    config: Vec<u8>,
    manifest: Vec<u8>,
    index: Vec<u8>,
}

impl<'a> Archive<'a> {
    /// Reads the image's content once, to know its digest.
    pub(super) fn of(image: &'a Image) -> anyhow::Result<Self> {
        let mut measure = Measure::new(io::sink());
        image.layer.write(&mut measure)?;
        let (layer_digest, layer_size) = (measure.digest(), measure.size);
        let settings = &image.settings;
        let environment: Vec<String> =
            settings.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Entrypoint": settings.entrypoint,
                "Env": environment,
                "User": settings.user,
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
        })
        .to_string()
        .into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest(&config), "size": config.len()},
            "layers": [{"mediaType": LAYER, "digest": layer_digest, "size": layer_size}],
        })
        .to_string()
        .into_bytes();
        let index = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [{
                "mediaType": MANIFEST,
                "digest": digest(&manifest),
                "size": manifest.len(),
                "platform": {"architecture": architecture, "os": "linux"},
                "annotations": {
                    "io.containerd.image.name": image.reference,
                    "org.opencontainers.image.ref.name": image.reference,
                },
            }],
        })
        .to_string()
        .into_bytes();
        Ok(Self { layer: &image.layer, layer_digest, layer_size, config, manifest, index })
    }

    pub(super) fn digest(&self) -> String {
        digest(&self.manifest)
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut output = BufWriter::with_capacity(1 << 20, File::create(path)?);
        append(&mut output, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        append(&mut output, "index.json", &self.index)?;
        append(&mut output, &blob(&digest(&self.config)), &self.config)?;
        append(&mut output, &blob(&digest(&self.manifest)), &self.manifest)?;
        output.write_all(header(&blob(&self.layer_digest), self.layer_size)?.as_bytes())?;
        let mut measure = Measure::new(&mut output);
        self.layer.write(&mut measure)?;
        ensure!(measure.digest() == self.layer_digest, "a file changed while it was being read");
        pad(&mut output, self.layer_size)?;
        // A tar ends with two empty blocks.
        output.write_all(&[0; 1024])?;
        output.flush()?;
        Ok(())
    }
}

/// Counts and hashes what passes through.
struct Measure<W> {
    output: W,
    hash: Sha256,
    size: u64,
}

impl<W> Measure<W> {
    fn new(output: W) -> Self {
        Self { output, hash: Sha256::new(), size: 0 }
    }

    fn digest(&self) -> String {
        named(&self.hash.clone().finalize())
    }
}

impl<W: Write> Write for Measure<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.output.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

fn append(output: &mut impl Write, path: &str, content: &[u8]) -> anyhow::Result<()> {
    output.write_all(header(path, content.len() as u64)?.as_bytes())?;
    output.write_all(content)?;
    pad(output, content.len() as u64)
}

fn header(path: &str, size: u64) -> anyhow::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_path(path)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header.set_cksum();
    Ok(header)
}

/// Fills a tar's block of 512 bytes.
fn pad(output: &mut impl Write, size: u64) -> anyhow::Result<()> {
    let over = usize::try_from(size % 512)?;
    if over > 0 {
        output.write_all(&[0; 512][over..])?;
    }
    Ok(())
}

fn blob(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

fn digest(content: &[u8]) -> String {
    named(&Sha256::digest(content))
}

fn named(hash: &[u8]) -> String {
    hash.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
