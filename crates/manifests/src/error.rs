//! Why a text is not a manifest.

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, document {document}: {reason}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// The document, from 1.
    pub document: usize,
    /// What is wrong with it.
    pub reason: String,
}
