//! What is wrong with an input: everything at once, each with its place.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where, such as `labels.team` or `clusters[2]`; empty for the whole.
    pub path: String,
    /// What is wrong, and what would be right: `is longer than 63 characters`.
    pub message: String,
}

/// All that is wrong with an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// None so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// A single one.
    pub fn one(path: impl Into<String>, message: impl fmt::Display) -> Self {
        let mut problems = Self::new();
        problems.add(path, message);
        problems
    }

    /// Adds one.
    pub fn add(&mut self, path: impl Into<String>, message: impl fmt::Display) {
        self.0.push(Problem { path: path.into(), message: message.to_string() });
    }

    /// Takes the value of a result, or its error as a problem of that place.
    pub fn take<T, E: fmt::Display>(&mut self, path: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.add(path, error)).ok()
    }

    /// Adds those of a part, below its path.
    pub fn nest(&mut self, path: &str, inner: Self) {
        for problem in inner.0 {
            let joined = path.is_empty() || problem.path.is_empty() || problem.path.starts_with('[');
            let dot = if joined { "" } else { "." };
            self.add(format!("{path}{dot}{}", problem.path), problem.message);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// The value, if nothing was wrong.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{} {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_collected_with_their_places() {
        let mut problems = Problems::new();
        assert_eq!(problems.take("a", Ok::<_, String>(1)), Some(1));
        assert_eq!(problems.take::<u8, _>("name", Err("is empty")), None);
        problems.nest("spec", Problems::one("size", "is negative"));
        problems.nest("list", Problems::one("[1]", "is twice there"));
        problems.nest("whole", Problems::one("", "is missing"));
        problems.nest("", Problems::one("top", "is odd"));
        assert_eq!(
            problems.to_string(),
            "name is empty; spec.size is negative; list[1] is twice there; whole is missing; top is odd"
        );
        assert!(problems.clone().or(()).is_err());
        assert_eq!(Problems::new().or(7), Ok(7));
        assert_eq!(problems.iter().count(), 5);
    }
}
