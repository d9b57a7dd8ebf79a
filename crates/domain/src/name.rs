//! Names of operators, clusters and namespaces: DNS labels, as Kubernetes wants them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Lower-case letters, digits and dashes, not at the ends, 63 characters at most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// There is none.
    #[error("is empty")]
    Empty,
    /// Longer than Kubernetes allows.
    #[error("is longer than 63 characters")]
    TooLong,
    /// Other characters, or a dash at an end.
    #[error("has to consist of lower-case letters, digits and dashes, and to begin and end without a dash")]
    Characters,
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let allowed = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
        if text.is_empty() {
            Err(BadName::Empty)
        } else if text.len() > 63 {
            Err(BadName::TooLong)
        } else if text.starts_with('-') || text.ends_with('-') || !text.chars().all(allowed) {
            Err(BadName::Characters)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_labels() {
        for good in ["a", "cert-manager", "0", &"x".repeat(63)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        assert_eq!("".parse::<Name>(), Err(BadName::Empty));
        assert_eq!("x".repeat(64).parse::<Name>(), Err(BadName::TooLong));
        for bad in ["-a", "a-", "A", "a.b", "a_b", "ä", "a b"] {
            assert_eq!(bad.parse::<Name>(), Err(BadName::Characters), "{bad}");
        }
    }
}
