//! What people type to log in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A name in lower case: letters, digits and `. _ - @ +`, 64 characters at most. Names of people that another
/// issuer vouches for begin with the issuer's name and a colon (`corp:ada`), which nobody can choose for a
/// local user, so that neither can be taken for the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Username(String);

/// Why a text is not a username.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUsername {
    /// There is none.
    #[error("is empty")]
    Empty,
    /// Too long.
    #[error("is longer than 64 characters")]
    TooLong,
    /// Other characters.
    #[error("has to begin with a letter or digit and to consist of letters, digits and . _ - @ +")]
    Characters,
}

const LONGEST: usize = 64;
/// An issuer's name is a DNS label of at most 63, and a colon.
const LONGEST_FOREIGN: usize = LONGEST + 64;

fn is_plain(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '.' | '_' | '-' | '@' | '+')
}

impl Username {
    /// The name of a local user; upper case is the same as lower case.
    pub fn local(text: &str) -> Result<Self, BadUsername> {
        let text = text.to_ascii_lowercase();
        check(&text, LONGEST).map(|()| Self(text))
    }

    /// The name of somebody whom an issuer vouches for: what it calls them, with `-` for what a name cannot
    /// hold, behind the issuer's name.
    pub fn foreign(issuer: &str, called: &str) -> Self {
        let called: String = called
            .to_lowercase()
            .chars()
            .map(|character| if is_plain(character) { character } else { '-' })
            .skip_while(|character| !character.is_ascii_alphanumeric())
            .take(LONGEST)
            .collect();
        Self(format!("{issuer}:{}", if called.is_empty() { "user" } else { &called }))
    }

    /// The same with something behind it, for a name that is taken already.
    #[must_use]
    pub fn told_apart(&self, by: &str) -> Self {
        let room = LONGEST_FOREIGN.saturating_sub(by.len() + 1);
        let base: String = self.0.chars().take(room).collect();
        Self(format!("{base}-{by}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check(text: &str, longest: usize) -> Result<(), BadUsername> {
    if text.is_empty() {
        Err(BadUsername::Empty)
    } else if text.len() > longest {
        Err(BadUsername::TooLong)
    } else if !text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        || !text.chars().all(is_plain)
    {
        Err(BadUsername::Characters)
    } else {
        Ok(())
    }
}

impl FromStr for Username {
    type Err = BadUsername;

    /// Either kind.
    fn from_str(text: &str) -> Result<Self, BadUsername> {
        match text.split_once(':') {
            None => Self::local(text),
            Some((issuer, called)) => {
                let called = called.to_ascii_lowercase();
                check(issuer, 63)?;
                check(&called, LONGEST_FOREIGN.saturating_sub(issuer.len() + 1))?;
                Ok(Self(format!("{issuer}:{called}")))
            }
        }
    }
}

impl TryFrom<String> for Username {
    type Error = BadUsername;

    fn try_from(text: String) -> Result<Self, BadUsername> {
        text.parse()
    }
}

impl From<Username> for String {
    fn from(name: Username) -> Self {
        name.0
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_tell_people_apart() {
        assert_eq!(Username::local("Ada").unwrap(), Username::local("ada").unwrap());
        assert_eq!("ada.l+x@example".parse::<Username>().unwrap().as_str(), "ada.l+x@example");
    }

    #[test]
    fn nobody_can_choose_a_name_of_another_issuer() {
        assert_eq!(Username::local("corp:ada"), Err(BadUsername::Characters));
        assert_eq!(Username::local(""), Err(BadUsername::Empty));
        assert_eq!(Username::local(&"x".repeat(65)), Err(BadUsername::TooLong));
        for bad in ["-a", ".a", "a b", "ä", "a/b", "a\n"] {
            assert_eq!(Username::local(bad), Err(BadUsername::Characters), "{bad}");
        }
    }

    #[test]
    fn whatever_an_issuer_calls_somebody_becomes_a_name() {
        for (called, name) in [
            ("Ada", "corp:ada"),
            ("auth0|5f7", "corp:auth0-5f7"),
            ("Ärger", "corp:rger"),
            ("###", "corp:user"),
        ] {
            let made = Username::foreign("corp", called);
            assert_eq!(made.as_str(), name);
            assert_eq!(made.to_string().parse::<Username>().unwrap(), made);
        }
        let long = Username::foreign("corp", &"x".repeat(500)).told_apart("1a2b3c4d");
        assert_eq!(long.to_string().parse::<Username>().unwrap(), long);
    }
}
