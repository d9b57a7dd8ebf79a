//! Addresses that mails go to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An address: something, an `@`, a host. Whether it exists only a mail can tell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

/// Why a text is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadEmail {
    /// Too long for a mail server.
    #[error("is longer than 254 characters")]
    TooLong,
    /// Not like `ada@example.com`.
    #[error("has to look like ada@example.com")]
    Shape,
}

impl Email {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Email {
    type Err = BadEmail;

    fn from_str(text: &str) -> Result<Self, BadEmail> {
        if text.len() > 254 {
            return Err(BadEmail::TooLong);
        }
        let local_allowed =
            |character: char| character.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-".contains(character);
        let host_allowed =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
        let is_good = text.split_once('@').is_some_and(|(local, host)| {
            !local.is_empty()
                && !host.is_empty()
                && local.chars().all(local_allowed)
                && host.chars().all(host_allowed)
                && ![local, host]
                    .iter()
                    .any(|part| part.starts_with('.') || part.ends_with('.') || part.contains(".."))
                && !host.starts_with('-')
                && !host.ends_with('-')
        });
        if is_good { Ok(Self(text.to_owned())) } else { Err(BadEmail::Shape) }
    }
}

impl TryFrom<String> for Email {
    type Error = BadEmail;

    fn try_from(text: String) -> Result<Self, BadEmail> {
        text.parse()
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_smuggle_a_header_or_a_second_one() {
        for good in ["ada@example.com", "a.b+c@localhost", "o'brien@a-b.example"] {
            assert_eq!(good.parse::<Email>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "ada",
            "@",
            "a@",
            "@b",
            "a b@c",
            "a@b\r\nBcc: x@y",
            "a@b,c@d",
            "<a@b>",
            "a@@b",
            ".a@b",
            "a@b..c",
            "a@-b",
        ] {
            assert_eq!(bad.parse::<Email>(), Err(BadEmail::Shape), "{bad:?}");
        }
        assert_eq!(format!("{}@b", "a".repeat(253)).parse::<Email>(), Err(BadEmail::TooLong));
    }
}
