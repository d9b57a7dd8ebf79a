//! What ran, what was skipped and why, and how long it took.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::progress::minutes;

/// The counts of a test run, read from what cargo prints.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

impl Counts {
    /// Adds what a line says, if it is the closing line of a test program.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(rest) = line.trim().strip_prefix("test result: ") else { return };
        let of = |word: &str| {
            rest.split([';', '.'])
                .map(str::trim)
                .find_map(|part| part.strip_suffix(word)?.trim().parse::<usize>().ok())
        };
        self.passed += of("passed").unwrap_or(0);
        self.failed += of("failed").unwrap_or(0);
        self.ignored += of("ignored").unwrap_or(0);
    }
}

/// The steps of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    started: Instant,
    steps: Vec<(String, bool, Duration)>,
    /// What the tests counted.
    pub(crate) counts: Counts,
    /// Names of the tests that failed.
    pub(crate) failures: Vec<String>,
    /// Names of the tests that failed at first and passed by themselves.
    unsteady: Vec<String>,
    /// Why tests were skipped, and which.
    pub(crate) skipped: BTreeMap<String, Vec<String>>,
}

impl Summary {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            steps: Vec::new(),
            counts: Counts::default(),
            failures: Vec::new(),
            unsteady: Vec::new(),
            skipped: BTreeMap::new(),
        }
    }

    /// Runs a step and remembers how it went.
    pub(crate) fn step(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        eprintln!("── {name}");
        let started = Instant::now();
        let passed = work(self)?;
        self.steps.push((name.to_owned(), passed, started.elapsed()));
        Ok(passed)
    }

    /// Reads what the test kit noted about skipped tests: a test and a reason a line.
    pub(crate) fn read_skipped(&mut self, notes: &str) {
        for (test, reason) in notes.lines().filter_map(|line| line.split_once('\t')) {
            let tests = self.skipped.entry(reason.to_owned()).or_default();
            if !tests.iter().any(|known| known == test) {
                tests.push(test.to_owned());
            }
        }
    }

    /// Takes the failures of a step for unsteady tests: all of them passed by themselves.
    pub(crate) fn forgive(&mut self, name: &str) {
        self.counts.passed += self.failures.len();
        self.counts.failed -= self.failures.len().min(self.counts.failed);
        self.unsteady.append(&mut self.failures);
        for (step, passed, _) in &mut self.steps {
            *passed |= step == name;
        }
    }

    /// Whether everything passed.
    pub(crate) fn passed(&self) -> bool {
        self.counts.failed == 0 && self.steps.iter().all(|(_, passed, _)| *passed)
    }

    /// The closing words. The last line is for machines as well as for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("\n");
        let width = self.steps.iter().map(|(name, _, _)| name.chars().count()).max().unwrap_or(0);
        for (name, passed, elapsed) in &self.steps {
            let glyph = if *passed { '✓' } else { '✗' };
            let _ = writeln!(text, "  {glyph} {name:width$}  {}", minutes(*elapsed));
        }
        for name in &self.failures {
            let _ = writeln!(text, "  failed: {name}");
        }
        for name in &self.unsteady {
            let _ = writeln!(text, "  UNSTEADY, failed once and passed by itself: {name}");
        }
        for (reason, tests) in &self.skipped {
            let _ = writeln!(text, "  skipped ({reason}): {}", tests.join(", "));
        }
        let _ = writeln!(text, "  in all {}", minutes(self.started.elapsed()));
        let skipped = self.counts.ignored + self.skipped.values().map(Vec::len).sum::<usize>();
        let _ =
            writeln!(text, "{} passed, {} failed, {skipped} skipped", self.counts.passed, self.counts.failed);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_test_programs_are_added_up() {
        let mut counts = Counts::default();
        counts.read(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.2s",
        );
        counts.read("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.read("running 5 tests");
        assert_eq!(counts, Counts { passed: 14, failed: 3, ignored: 1 });
    }

    #[test]
    fn the_summary_names_what_was_skipped_and_why() {
        let mut summary = Summary::new();
        summary.step("tests", |_| Ok(true)).unwrap();
        summary.counts.passed = 3;
        summary.read_skipped("a_pod_starts\tno root\na_pod_starts\tno root\nno tab\n");
        let text = summary.text();
        assert!(text.contains("skipped (no root): a_pod_starts\n"), "{text}");
        assert!(text.ends_with("3 passed, 0 failed, 1 skipped\n"), "{text}");
        assert!(summary.passed());
    }

    #[test]
    fn what_passed_by_itself_is_forgiven_and_named() {
        let mut summary = Summary::new();
        summary.step("tests", |_| Ok(false)).unwrap();
        summary.counts = Counts { passed: 8, failed: 1, ignored: 0 };
        summary.failures.push("a_race".to_owned());
        assert!(!summary.passed());
        summary.forgive("tests");
        assert!(summary.passed());
        let text = summary.text();
        assert!(text.contains("UNSTEADY, failed once and passed by itself: a_race\n"), "{text}");
        assert!(text.ends_with("9 passed, 0 failed, 0 skipped\n"), "{text}");
    }

    #[test]
    fn one_failed_step_fails_the_run() {
        let mut summary = Summary::new();
        summary.step("format", |_| Ok(false)).unwrap();
        assert!(!summary.passed());
        assert!(summary.text().contains("✗ format"));
    }
}
