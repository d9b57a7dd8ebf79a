//! How a run of helm fails.

use std::time::Duration;

/// Why helm did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelmError {
    /// There is no such program here.
    #[error("helm is not on this machine")]
    Missing(#[source] slipway_programs::Missing),
    /// It is there and does not start.
    #[error("{program} could not be started")]
    Start {
        /// The program's file.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What answers is no helm that is known here.
    #[error("{program} is no helm 3 or 4: it says {said:?}")]
    NotHelm {
        /// The program's file.
        program: String,
        /// What it said to `version`.
        said: String,
    },
    /// It took too long and was ended.
    #[error("helm was ended while {doing}: it took longer than {after:?}")]
    Deadline {
        /// What was being done.
        doing: String,
        /// After how long.
        after: Duration,
    },
    /// It printed more than is sensible.
    #[error("helm was ended while {doing}: it printed more than {most} bytes")]
    TooMuch {
        /// What was being done.
        doing: String,
        /// The most that is read.
        most: usize,
    },
    /// There is no such release.
    #[error("there is no release {release}")]
    NoRelease {
        /// Which.
        release: String,
    },
    /// The cluster does not answer.
    #[error("the cluster does not answer: {reason}")]
    Unreachable {
        /// What helm said.
        reason: String,
    },
    /// The cluster does not allow it.
    #[error("the cluster does not allow it: {reason}")]
    Forbidden {
        /// What the cluster said.
        reason: String,
    },
    /// Another change of the release is under way, or was killed.
    #[error("another change of the release is under way")]
    Pending,
    /// The chart cannot be rendered with these values.
    #[error("the chart cannot be rendered: {reason}")]
    Render {
        /// What helm said.
        reason: String,
    },
    /// Anything else that helm said.
    #[error("helm failed while {doing}: {reason}")]
    Failed {
        /// What was being done.
        doing: String,
        /// What helm said.
        reason: String,
    },
    /// It went well, and what it printed cannot be read.
    #[error("helm's answer cannot be read while {doing}")]
    Answer {
        /// What was being done.
        doing: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The chart cannot be unpacked or packed.
    #[error("the chart cannot be unpacked: {reason}")]
    Archive {
        /// Why.
        reason: String,
    },
    /// Its private home could not be made.
    #[error("a private directory for helm could not be made")]
    Home(#[source] std::io::Error),
}

impl HelmError {
    /// Turns what helm printed into an error.
    pub(crate) fn of_output(doing: &str, stderr: &str) -> Self {
        let reason = sentence(stderr);
        let lower = reason.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if says(&["release: not found"]) {
            return Self::NoRelease { release: doing.rsplit(' ').next().unwrap_or(doing).to_owned() };
        }
        if says(&["another operation"]) {
            return Self::Pending;
        }
        if says(&["forbidden", "unauthorized", "must be logged in"]) {
            return Self::Forbidden { reason };
        }
        if says(&["cluster unreachable", "connection refused", "no such host", "i/o timeout", "x509:"]) {
            return Self::Unreachable { reason };
        }
        if says(&[
            "execution error at",
            "template:",
            "parse error",
            "values don't meet",
            "error converting yaml",
        ]) {
            return Self::Render { reason };
        }
        Self::Failed { doing: doing.to_owned(), reason }
    }
}

/// What helm means: the text after its last `Error:`, on one line, without the noise before it.
fn sentence(stderr: &str) -> String {
    const LONGEST: usize = 600;
    let text = stderr.rfind("Error: ").map_or(stderr, |at| &stderr[at + "Error: ".len()..]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    if line.is_empty() {
        return "it said nothing".to_owned();
    }
    if line.len() > LONGEST {
        let cut = (0..=LONGEST).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(cut);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helm_says_becomes_a_sentence() {
        let error = |text: &str| HelmError::of_output("reading the release web", text);
        assert!(
            matches!(error("Error: release: not found\n"), HelmError::NoRelease { release } if release == "web")
        );
        assert!(matches!(
            error("Error: another operation (install/upgrade/rollback) is in progress"),
            HelmError::Pending
        ));
        assert!(matches!(
            error("level=WARN msg=x\nError: Kubernetes cluster unreachable: dial tcp: connection refused"),
            HelmError::Unreachable { .. }
        ));
        assert!(matches!(
            error("Error: list: failed to list: secrets is forbidden: User \"x\" cannot list"),
            HelmError::Forbidden { .. }
        ));
        let render =
            error("Error: execution error at (a/templates/x.yaml:1:3): replicas\n  is needed\n\nUse --debug");
        assert_eq!(
            render.to_string(),
            "the chart cannot be rendered: execution error at (a/templates/x.yaml:1:3): replicas is needed Use --debug"
        );
        assert_eq!(error("").to_string(), "helm failed while reading the release web: it said nothing");
        assert!(error(&format!("Error: {}", "ä".repeat(2000))).to_string().len() < 800);
    }
}
