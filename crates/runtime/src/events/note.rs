//! What an event says.

use std::fmt;
use std::str::FromStr;

use k8s_openapi::api::core::v1::ObjectReference;
use serde::{Deserialize, Serialize};

/// Where the severity of an event is kept, since Kubernetes knows two types only.
pub const SEVERITY_ANNOTATION: &str = "slipway.dev/severity";

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// Nothing to worry about.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
    /// Someone must act.
    Critical,
}

impl Severity {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
            Self::Critical => "Critical",
        }
    }

    /// The type that Kubernetes shows for it.
    pub fn core_type(self) -> EventType {
        if self == Self::Info { EventType::Normal } else { EventType::Warning }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Info, Self::Warning, Self::Error, Self::Critical]
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("\"{text}\" is not one of Info, Warning, Error, Critical"))
    }
}

/// What sort of event it is. Kubernetes itself takes the first two only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventType {
    /// As expected.
    Normal,
    /// Not as expected.
    Warning,
    /// A failure; in Kubernetes a warning.
    Error,
}

impl EventType {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

impl FromStr for EventType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Normal, Self::Warning, Self::Error]
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("\"{text}\" is not one of Normal, Warning, Error"))
    }
}

/// One thing that happened to an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// How bad it is.
    pub severity: Severity,
    /// Why it is said, as one word in `PascalCase`.
    pub reason: String,
    /// What happened, in a sentence. Beyond 1 KiB it is cut.
    pub message: String,
    /// What was being done, as one word; the reason if it is empty.
    pub action: String,
    /// Another object that it is about.
    pub related: Option<ObjectReference>,
}

impl Note {
    /// Nothing to worry about.
    pub fn info(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, reason, message)
    }

    /// Worth a look.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, message)
    }

    /// Something failed.
    pub fn error(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    /// With a severity.
    pub fn new(severity: Severity, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity,
            reason: reason.into(),
            message: message.into(),
            action: String::new(),
            related: None,
        }
    }

    /// What was being done.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }

    /// Another object that it is about.
    #[must_use]
    pub fn related(mut self, related: ObjectReference) -> Self {
        self.related = Some(related);
        self
    }

    /// The same, within what the API server takes.
    pub(super) fn fitted(mut self) -> Self {
        if self.reason.is_empty() {
            "Unknown".clone_into(&mut self.reason);
        }
        cut(&mut self.reason, 128);
        if self.action.is_empty() {
            self.action.clone_from(&self.reason);
        }
        cut(&mut self.action, 128);
        cut(&mut self.message, 1024);
        self
    }
}

/// Shortens a text to so many bytes, between two characters, and shows that it did.
fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        let end = text.floor_char_boundary(bytes - '…'.len_utf8());
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let note = Note::error("Failed", "ä".repeat(600)).fitted();
        assert!(note.message.len() <= 1024 && note.message.len() > 1018);
        assert!(note.message.ends_with("ä…"));
        assert_eq!(note.action, "Failed");
        let exact = Note::info("Done", "x".repeat(1024)).fitted();
        assert_eq!(exact.message.len(), 1024);
        assert!(!exact.message.contains('…'));
    }

    #[test]
    fn kubernetes_sees_normal_and_warning_only() {
        assert_eq!(Severity::Info.core_type(), EventType::Normal);
        for other in [Severity::Warning, Severity::Error, Severity::Critical] {
            assert_eq!(other.core_type(), EventType::Warning);
        }
    }
}
