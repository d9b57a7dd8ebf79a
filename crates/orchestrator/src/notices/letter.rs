//! How a message is laid out: what happened, the facts in two columns, where to go on.

use std::fmt::Write as _;

use jiff::Timestamp;

/// A text in the making.
#[derive(Debug, Default)]
pub(super) struct Letter {
    lead: String,
    facts: Vec<(&'static str, String)>,
    next: Vec<(String, Vec<String>)>,
}

impl Letter {
    /// Begins with what happened.
    pub(super) fn new(lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..Self::default() }
    }

    /// Adds a fact.
    #[must_use]
    pub(super) fn fact(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((label, value.into()));
        self
    }

    /// Adds a fact that may not be there.
    #[must_use]
    pub(super) fn fact_if(self, label: &'static str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.fact(label, value),
            None => self,
        }
    }

    /// Adds where to go on: a sentence, and lines to click or copy.
    #[must_use]
    pub(super) fn next(
        mut self,
        sentence: impl Into<String>,
        lines: impl IntoIterator<Item = String>,
    ) -> Self {
        self.next.push((sentence.into(), lines.into_iter().collect()));
        self
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.lead);
        let width = self.facts.iter().map(|(label, _)| label.len()).max().unwrap_or_default() + 3;
        if !self.facts.is_empty() {
            text.push('\n');
        }
        for (label, value) in &self.facts {
            let mut label = *label;
            for line in value.lines() {
                let _ = writeln!(text, "{label:width$}{line}");
                label = "";
            }
        }
        for (sentence, lines) in &self.next {
            let _ = write!(text, "\n{sentence}\n");
            for line in lines {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}

/// A moment for people: to the minute, with its zone.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
