//! What people write beside a decision.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text of a person: not empty, 2,000 characters at most, no control characters but line ends and tabs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Note(String);

/// Why a text is not a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadNote {
    /// Nothing but space.
    #[error("is empty")]
    Empty,
    /// Too long for a mail.
    #[error("is longer than 2,000 characters")]
    TooLong,
    /// What terminals and mails would take for commands.
    #[error("holds control characters")]
    Control,
}

impl Note {
    /// The most characters.
    pub const MOST: usize = 2_000;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Note {
    type Err = BadNote;

    fn from_str(text: &str) -> Result<Self, BadNote> {
        let text = text.trim();
        if text.is_empty() {
            Err(BadNote::Empty)
        } else if text.chars().count() > Self::MOST {
            Err(BadNote::TooLong)
        } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            Err(BadNote::Control)
        } else {
            Ok(Self(text.replace("\r\n", "\n").replace('\r', "\n")))
        }
    }
}

impl TryFrom<String> for Note {
    type Error = BadNote;

    fn try_from(text: String) -> Result<Self, BadNote> {
        text.parse()
    }
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_text_and_nothing_else() {
        assert_eq!("  looks good\r\nto me ".parse::<Note>().unwrap().as_str(), "looks good\nto me");
        assert_eq!(" \n".parse::<Note>(), Err(BadNote::Empty));
        assert_eq!("x".repeat(2_001).parse::<Note>(), Err(BadNote::TooLong));
        assert_eq!("\u{1b}[31mred".parse::<Note>(), Err(BadNote::Control));
    }
}
