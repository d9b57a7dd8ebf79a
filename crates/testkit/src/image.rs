//! Container images made from compiled programs, without an engine or a registry.
//!
//! An image is one layer and is written as an OCI archive, which containerd imports. The same
//! content always gives the same digest. It describes and writes; it never runs anything but the
//! loader that says which libraries a program needs.

mod archive;
mod builder;
mod elf;
mod layer;

use std::path::Path;

use anyhow::Context;

pub use builder::ImageBuilder;

use archive::Archive;
use layer::Layer;

/// What is run when a container of the image starts, and as whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Settings {
    entrypoint: Vec<String>,
    environment: Vec<(String, String)>,
    user: String,
}

/// An image that can be written as an OCI archive.
#[derive(Debug, Clone)]
pub struct Image {
    reference: String,
    layer: Layer,
    settings: Settings,
}

impl Image {
    /// Begins to describe an image; `reference` is what a pod writes to get it, such as `localhost/probe:1`.
    pub fn builder(reference: &str) -> ImageBuilder {
        ImageBuilder::new(reference)
    }

    /// An image of one program, with the libraries it needs, run as a user without rights.
    pub fn from_binary(reference: &str, program: impl AsRef<Path>) -> anyhow::Result<Self> {
        Ok(Self::builder(reference).program(program)?.build())
    }

    /// What a pod writes to get it.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// The digest of its manifest.
    pub fn digest(&self) -> anyhow::Result<String> {
        Ok(Archive::of(self)?.digest())
    }

    /// Writes it as an OCI archive and gives the digest of its manifest.
    pub fn write(&self, path: impl AsRef<Path>) -> anyhow::Result<String> {
        let path = path.as_ref();
        let archive = Archive::of(self)?;
        archive
            .write(path)
            .with_context(|| format!("writing the image {} to {}", self.reference, path.display()))?;
        Ok(archive.digest())
    }
}

#[cfg(test)]
mod tests;
