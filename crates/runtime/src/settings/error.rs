//! Why an operator cannot start with what it was told.

use std::fmt;
use std::path::PathBuf;

/// A key of the file that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Where it is: `policy.registries`.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: unknown key {}", self.line, self.path)?;
        match &self.suggestion {
            Some(suggestion) => write!(formatter, " (did you mean {suggestion}?)"),
            None => Ok(()),
        }
    }
}

/// Why an operator cannot start with what it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("reading the configuration file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not YAML.
    #[error("the configuration file {}, line {line}: this cannot be read: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// The file has keys that mean nothing.
    #[error("the configuration file {}, {}", path.display(), join(keys))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The keys.
        keys: Vec<UnknownKey>,
    },
    /// A key's value is not what it should be.
    #[error("the configuration file {}, line {line}: {key}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The key: `policy.registries[1]`.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A variable's value is not what it should be.
    #[error("the environment variable {name}=\"{value}\": {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        reason: String,
    },
    /// A value cannot be used, wherever it came from.
    #[error("{key}: {reason}")]
    Invalid {
        /// The flag.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

fn join(keys: &[UnknownKey]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
