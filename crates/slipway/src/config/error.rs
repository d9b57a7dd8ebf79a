//! What is wrong with the settings, all of it.

use std::fmt;

/// Everything that is wrong, a sentence each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConfigError(pub(super) Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("the settings cannot be used"),
            [one] => write!(f, "the settings cannot be used: {one}"),
            many => {
                write!(f, "the settings cannot be used, for {} reasons:", many.len())?;
                many.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}
