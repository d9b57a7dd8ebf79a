//! Places in a custom resource, as schemas know them.

use std::fmt::{self, Write};

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step<'a> {
    /// The property of that name.
    Field(&'a str),
    /// Any item of a list.
    Items,
    /// Any value of a map.
    Values,
}

/// Steps from the root of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Path<'a>(pub(crate) Vec<Step<'a>>);

impl<'a> Path<'a> {
    pub(crate) fn push(&mut self, step: Step<'a>) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn steps(&self) -> &[Step<'a>] {
        &self.0
    }

    pub(crate) fn parent(&self) -> &[Step<'a>] {
        self.0.split_last().map_or(&[], |(_, parent)| parent)
    }

    /// Whether the place lies in `.status`, which controllers write.
    pub(crate) fn in_status(&self) -> bool {
        self.0.first() == Some(&Step::Field("status"))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_char('.');
        }
        for step in &self.0 {
            match step {
                Step::Field(name) if plain(name) => write!(f, ".{name}")?,
                Step::Field(name) => write!(f, "[{name:?}]")?,
                Step::Items => f.write_str("[]")?,
                Step::Values => f.write_str(".*")?,
            }
        }
        Ok(())
    }
}

/// Whether a name can be written after a dot without being mistaken for something else.
fn plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_like_the_field_it_names() {
        let path = Path(vec![
            Step::Field("spec"),
            Step::Field("ports"),
            Step::Items,
            Step::Field("labels"),
            Step::Values,
            Step::Field("a.b"),
        ]);
        assert_eq!(path.to_string(), ".spec.ports[].labels.*[\"a.b\"]");
        assert_eq!(Path::default().to_string(), ".");
    }

    #[test]
    fn only_what_lies_below_status_is_the_controllers() {
        assert!(Path(vec![Step::Field("status"), Step::Field("phase")]).in_status());
        assert!(!Path(vec![Step::Field("spec"), Step::Field("status")]).in_status());
    }
}
