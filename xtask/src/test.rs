//! `cargo xtask test`: everything that CI checks, and its inner loops.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::setup;
use crate::summary::Summary;
use crate::workspace::{cargo, generate, root, run, target_directory};

/// Crates whose tests need nothing but themselves.
const PURE: &[&str] = &["slipway-crd-compat", "slipway-guardian", "slipway-programs", "xtask"];

/// Crates with tests that have more to do in a soak, or that depend on the version of Kubernetes.
const SOAKED: [&str; 7] = [
    "slipway-domain",
    "slipway-orchestrator",
    "slipway-testkit",
    "slipway-crd-compat",
    "slipway",
    "slipway-runtime",
    "slipway-application-operator",
];

/// More failures than this are no chance, and not tried again.
const UNSTEADY: usize = 3;

/// What to test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    fast: bool,
    retry: bool,
    only: Option<String>,
}

impl Wanted {
    /// Reads the command's own words.
    pub(crate) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let mut wanted = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--fast" => wanted.fast = true,
                "--retry" => wanted.retry = true,
                "--only" => match words.next() {
                    Some(name) => wanted.only = Some((*name).to_owned()),
                    None => bail!("--only needs the name of a crate or of a test"),
                },
                unknown => {
                    bail!("test has no option {unknown:?}; it takes --fast, --retry and --only <name>")
                }
            }
        }
        Ok(wanted)
    }

    /// Cargo's words for the packages and the filter.
    fn selection(&self) -> Vec<String> {
        let mut words = Vec::new();
        match &self.only {
            Some(name) => match package(name) {
                Some(package) => words.extend(["--package".to_owned(), package]),
                None => words.extend(["--workspace".to_owned(), name.clone()]),
            },
            None if self.fast => {
                words.extend(PURE.iter().flat_map(|package| ["--package".to_owned(), (*package).to_owned()]));
            }
            None => words.push("--workspace".to_owned()),
        }
        words
    }
}

/// The package that a person means: by its own name, or by its folder.
fn package(name: &str) -> Option<String> {
    for folder in ["crates", "operators", "."] {
        let Ok(entries) = fs::read_dir(root().join(folder)) else { continue };
        for entry in entries.flatten() {
            let Ok(manifest) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
            let package = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
            if let Some(package) = package
                && (package == name || entry.file_name() == name)
            {
                return Some(package.to_owned());
            }
        }
    }
    None
}

/// Runs the checks and the tests, and says how they went.
pub(crate) fn test(wanted: &Wanted) -> anyhow::Result<ExitCode> {
    let mut summary = Summary::new();
    let whole = !wanted.fast && wanted.only.is_none();
    if !wanted.fast {
        summary.step("setup", |_| setup::setup(&setup::Wanted::default()).map(|()| true))?;
    }
    if whole {
        summary.step("format", |_| Ok(run(&mut cargo(&["fmt", "--all", "--check"]))?.success()))?;
        summary.step("lints", |_| {
            Ok(run(&mut cargo(&[
                "clippy",
                "--quiet",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]))?
            .success())
        })?;
        summary.step("generated files", |_| Ok(generate(&["--check"])? == ExitCode::SUCCESS))?;
    }
    let selection = wanted.selection();
    let broker = !wanted.fast;
    summary.step("tests", |summary| tests(summary, &selection, broker, &[]))?;
    if wanted.retry && (1..=UNSTEADY).contains(&summary.failures.len()) {
        retry(&mut summary, broker)?;
    }
    if whole {
        summary.step("doc tests", |summary| {
            tests(summary, &["--workspace".to_owned(), "--doc".to_owned()], false, &[])
        })?;
    }
    print!("{}", summary.text());
    Ok(if summary.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the few tests that failed once more, by themselves. What passes then is not forgiven in
/// silence: the summary names it as unsteady.
fn retry(summary: &mut Summary, broker: bool) -> anyhow::Result<()> {
    let mut selection: Vec<_> = ["--workspace", "--", "--exact"].map(str::to_owned).into();
    selection.extend(summary.failures.iter().cloned());
    let mut second = Summary::new();
    let passed = summary.step("failed tests again", |_| tests(&mut second, &selection, broker, &[]))?;
    if passed && second.counts.passed >= summary.failures.len() {
        summary.forgive("tests");
    }
    Ok(())
}

/// The long tests: what runs on Kubernetes once more on the oldest supported one, again and again
/// until the time is over.
pub(crate) fn soak(words: &[&str]) -> anyhow::Result<ExitCode> {
    let (minutes, chosen): (u64, _) = match words.split_first() {
        None => (30, &[][..]),
        Some((minutes, chosen)) => {
            (minutes.parse().with_context(|| format!("{minutes:?} is not a number of minutes"))?, chosen)
        }
    };
    let mut packages = Vec::new();
    for name in chosen {
        packages.push(package(name).with_context(|| format!("there is no crate {name:?}"))?);
    }
    if packages.is_empty() {
        packages.extend(SOAKED.map(str::to_owned));
    }
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut summary = Summary::new();
    let mut round = 1;
    loop {
        let (seed, length) = (round.to_string(), minutes.to_string());
        let environment = [
            ("SLIPWAY_KUBERNETES", "oldest"),
            ("SLIPWAY_SOAK", "1"),
            ("SLIPWAY_SOAK_ROUND", seed.as_str()),
            ("SLIPWAY_SOAK_MINUTES", length.as_str()),
        ];
        let selection: Vec<_> =
            packages.iter().flat_map(|package| ["--package".to_owned(), package.clone()]).collect();
        let passed = summary.step(&format!("round {round}, oldest Kubernetes"), |summary| {
            tests(summary, &selection, true, &environment)
        })?;
        round += 1;
        if !passed || Instant::now() >= end {
            break;
        }
    }
    print!("{}", summary.text());
    Ok(if summary.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A directory for everything that a run's processes make, which must be empty in the end.
struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    fn new() -> anyhow::Result<Self> {
        // Short: Unix sockets are in it, whose paths may have 107 bytes.
        let path = std::env::temp_dir().join(format!("slipway-run-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self { path })
    }

    /// What is left in it although every process is gone.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect()
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn tests(
    summary: &mut Summary,
    selection: &[String],
    with_broker: bool,
    environment: &[(&str, &str)],
) -> anyhow::Result<bool> {
    let mut build = vec!["build", "--quiet", "--package", "slipway-guardian"];
    if with_broker {
        build.extend(["--package", "slipway-testkit"]);
    }
    if !run(&mut cargo(&build))?.success() {
        return Ok(false);
    }
    let programs = target_directory().join("debug");
    let guardian = programs.join("guardian");
    let directory = RunDirectory::new()?;
    let notes = std::env::temp_dir().join(format!("slipway-skipped-{}", std::process::id()));
    let broker =
        with_broker.then(|| Broker::start(&guardian, &programs, &directory.path, environment)).transpose()?;

    let mut command = Command::new(&guardian);
    let cargo = cargo(&["test", "--no-fail-fast"]);
    command
        .arg("--")
        .arg(cargo.get_program())
        .args(cargo.get_args())
        .args(selection)
        .current_dir(root())
        .env("TMPDIR", &directory.path)
        .env("SLIPWAY_GUARDIAN", &guardian)
        .env("SLIPWAY_SKIPPED", &notes)
        .envs(environment.iter().copied())
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(broker) = &broker {
        command.env("SLIPWAY_BROKER", &broker.socket);
    }
    let mut child = command.spawn().context("running the tests")?;
    // Held to the end: the guardian ends the tests when this process is gone.
    let _owner = child.stdin.take();
    let output = child.stdout.take().context("the tests have no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        summary.counts.read(&line);
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            summary.failures.push(name.to_owned());
        }
        println!("{line}");
    }
    let passed = child.wait()?.success();
    if let Some(broker) = broker {
        broker.end(passed);
    }
    if let Ok(text) = fs::read_to_string(&notes) {
        summary.read_skipped(&text);
        let _ = fs::remove_file(&notes);
    }
    let left = directory.left();
    if !left.is_empty() {
        eprintln!("left behind after every process was gone: {}", left.join(", "));
    }
    Ok(passed && left.is_empty())
}

/// The broker that the test processes of one run lease from.
struct Broker {
    guardian: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Broker {
    fn start(
        guardian: &Path,
        programs: &Path,
        directory: &Path,
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let unique = std::process::id();
        let socket = directory.join("broker");
        let log = std::env::temp_dir().join(format!("slipway-broker-{unique}.log"));
        let guardian = Command::new(guardian)
            .args(["--grace", "30", "--log"])
            .arg(&log)
            .arg("--remove")
            .arg(&socket)
            .arg("--")
            .arg(programs.join("slipway-broker"))
            .arg(&socket)
            .env("TMPDIR", directory)
            .env("SLIPWAY_GUARDIAN", guardian)
            .envs(environment.iter().copied())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("starting the broker")?;
        let mut broker = Self { guardian, socket, log };
        let started = Instant::now();
        while !broker.socket.exists() {
            if broker.guardian.try_wait()?.is_some() || started.elapsed() > Duration::from_secs(30) {
                let said = fs::read_to_string(&broker.log).unwrap_or_default();
                bail!("the broker did not start: {}", said.trim());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(broker)
    }

    /// Ends it and everything it leased out; its log is shown when the run failed.
    fn end(mut self, passed: bool) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
        if !passed && let Ok(said) = fs::read_to_string(&self.log) {
            let lines: Vec<_> = said.lines().collect();
            for line in &lines[lines.len().saturating_sub(60)..] {
                eprintln!("broker: {line}");
            }
        }
        let _ = fs::remove_file(&self.log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_may_be_named_by_its_folder() {
        assert_eq!(package("guardian").as_deref(), Some("slipway-guardian"));
        assert_eq!(package("slipway-guardian").as_deref(), Some("slipway-guardian"));
        assert_eq!(package("xtask").as_deref(), Some("xtask"));
        assert_eq!(package("a_test"), None);
    }

    #[test]
    fn what_is_no_crate_is_a_tests_name() {
        let wanted = Wanted::parse(&["--only", "a_test"]).unwrap();
        assert_eq!(wanted.selection(), ["--workspace", "a_test"]);
        assert!(Wanted::parse(&["--only"]).is_err());
        assert!(Wanted::parse(&["--quick"]).is_err());
    }
}
