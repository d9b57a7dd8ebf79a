//! What a webhook thinks of a request.

use serde_json::{Value, json};

/// Longer warnings are cut: API servers drop what goes over this many characters.
const WARNING_LIMIT: usize = 256;

/// One reason to refuse a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The field at fault, such as `spec.image`; empty when it is the object as a whole.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub message: String,
}

impl Denial {
    /// A reason to refuse that names the field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{}: {}", self.field, self.message)
        }
    }
}

impl std::error::Error for Denial {}

/// Everything a validator has against a request, and what it only warns of.
///
/// Validators do not stop at the first problem: whoever is refused learns all of them at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    denials: Vec<Denial>,
    warnings: Vec<String>,
}

impl Verdict {
    /// Nothing against it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses the request because of a field.
    pub fn deny(&mut self, field: impl Into<String>, message: impl Into<String>) -> &mut Self {
        self.denials.push(Denial::new(field, message));
        self
    }

    /// Lets the person at the keyboard know, without refusing.
    pub fn warn(&mut self, message: impl AsRef<str>) -> &mut Self {
        self.warnings.push(presentable(message.as_ref()));
        self
    }

    /// Adds what another verdict says.
    pub fn merge(&mut self, other: Self) -> &mut Self {
        self.denials.extend(other.denials);
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self
    }

    /// Whether nothing refuses the request.
    pub fn allowed(&self) -> bool {
        self.denials.is_empty()
    }

    /// The reasons to refuse it.
    pub fn denials(&self) -> &[Denial] {
        &self.denials
    }

    /// The warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// All denials in one line, as `kubectl` will show it.
    pub fn message(&self) -> String {
        let denials: Vec<String> = self.denials.iter().map(Denial::to_string).collect();
        match denials.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            many => format!("{} problems: {}", many.len(), many.join("; ")),
        }
    }

    /// The Kubernetes status of a refusal, with a cause for each denial.
    pub(crate) fn status(&self) -> Value {
        let causes: Vec<Value> = self
            .denials
            .iter()
            .map(|denial| {
                json!({"reason": "FieldValueInvalid", "field": denial.field, "message": denial.message})
            })
            .collect();
        json!({
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": self.message(),
            "details": {"causes": causes},
        })
    }
}

impl From<Denial> for Verdict {
    fn from(denial: Denial) -> Self {
        Self { denials: vec![denial], warnings: Vec::new() }
    }
}

/// Warnings travel in an HTTP header: one line, not too long.
fn presentable(warning: &str) -> String {
    let line: String = warning.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let line = line.trim();
    if line.chars().count() <= WARNING_LIMIT {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(WARNING_LIMIT - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_denial_is_in_the_message_and_in_the_causes() {
        let mut verdict = Verdict::new();
        verdict
            .deny("spec.image", "must not be blank")
            .deny("spec.replicas", "at most 100; use an HPA beyond");
        let status = verdict.status();
        assert_eq!(
            status["message"],
            "2 problems: spec.image: must not be blank; spec.replicas: at most 100; use an HPA beyond"
        );
        assert_eq!(status["code"], 403);
        assert_eq!(status["details"]["causes"][1]["field"], "spec.replicas");
    }

    #[test]
    fn a_single_denial_is_not_counted() {
        assert_eq!(Verdict::from(Denial::new("", "no")).message(), "no");
        assert_eq!(Verdict::from(Denial::new("spec.image", "no")).message(), "spec.image: no");
    }

    #[test]
    fn warnings_are_one_line_of_bounded_length() {
        let mut verdict = Verdict::new();
        verdict.warn("first\nsecond\u{7}").warn("ä".repeat(300));
        assert_eq!(verdict.warnings()[0], "first second");
        assert_eq!(verdict.warnings()[1].chars().count(), WARNING_LIMIT);
        assert!(verdict.warnings()[1].ends_with('…'));
    }

    #[test]
    fn the_same_warning_of_two_validators_is_shown_once() {
        let mut verdict = Verdict::new();
        verdict.warn("no limits");
        let other = verdict.clone();
        verdict.merge(other);
        assert_eq!(verdict.warnings().len(), 1);
    }
}
