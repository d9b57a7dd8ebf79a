//! Names that Prometheus takes.

/// Why a metric cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// The name is not one.
    #[error(
        "\"{0}\" cannot name a metric: use letters, digits, `_` and `:`, not beginning with a digit \
         (requests_total)"
    )]
    Name(String),
    /// The name belongs to another metric.
    #[error("the metric {name} cannot be registered: {taken_by} has that name already")]
    Taken {
        /// The name that was wanted.
        name: String,
        /// Whose it is.
        taken_by: String,
    },
    /// The bounds are not rising numbers.
    #[error("the histogram {0} needs bounds that are finite and rise, such as 0.1, 0.5, 1.0")]
    Buckets(String),
}

/// Whether this may name a metric.
pub(super) fn check(name: &str) -> Result<(), MetricError> {
    let mut characters = name.chars();
    let first =
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_' || first == ':');
    if first && characters.all(|next| next.is_ascii_alphanumeric() || next == '_' || next == ':') {
        Ok(())
    } else {
        Err(MetricError::Name(name.to_owned()))
    }
}

/// A label's name as Prometheus takes it: one wrong label must not make the whole page unreadable.
pub(super) fn label(name: &str) -> String {
    let mut label: String =
        name.chars().map(|next| if next.is_ascii_alphanumeric() { next } else { '_' }).collect();
    if !label.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        label.insert(0, '_');
    }
    // `le` carries the bounds of histograms, and two underscores are Prometheus' own.
    if label == "le" || label.starts_with("__") { format!("label_{label}") } else { label }
}

/// Help text on one line.
pub(super) fn help(text: &str) -> String {
    text.trim_end().trim_end_matches('.').replace('\\', "\\\\").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_labels_made_to_fit() {
        for good in ["requests_total", "a:b", "_x", "A1"] {
            assert_eq!(check(good), Ok(()));
        }
        for bad in ["", "1a", "a-b", "a b", "größe", "a{b=\"c\"}"] {
            assert_eq!(check(bad), Err(MetricError::Name(bad.to_owned())));
        }
        assert_eq!(label("queue"), "queue");
        assert_eq!(label("app.kubernetes.io/name"), "app_kubernetes_io_name");
        assert_eq!(label("1st"), "_1st");
        assert_eq!(label("le"), "label_le");
        assert_eq!(label("__name__"), "label___name__");
        assert_eq!(help("Two\nlines.\n"), "Two lines");
    }
}
