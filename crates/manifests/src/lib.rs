//! Reads Kubernetes manifests, trusted or not: YAML or JSON, one document or many.
//!
//! Plain scalars mean what `kubectl` takes them for (`on` is a boolean, `0777` is octal, keys are
//! strings), since that is what the API server gets to see. Everything is bounded: size, depth,
//! and what aliases may blow up to. An error says in which document and line it is, and why.
//!
//! Pure: text in, values out. It knows nothing of what the documents are about.

mod build;
mod error;
mod scalar;

pub use build::{Document, Limits, read, read_with};
pub use error::ReadError;
