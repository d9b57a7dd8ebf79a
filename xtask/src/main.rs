//! The project's own commands.
//!
//! It compiles in seconds with few dependencies, since it is what makes a bare machine ready;
//! what needs more is a program of the workspace that it runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to people")]

mod coverage;
mod progress;
mod setup;
mod summary;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::bail;

const USAGE: &str = "usage: cargo xtask <command>

  setup [--oldest]          make this machine ready: build and install what tests run on
                            (--oldest: the oldest supported Kubernetes too)
  test [--fast] [--only X]  everything CI checks; --fast: the pure crates; --only: a crate or a test's name
  demo [--once]             a fleet of three clusters to look at; --once ends after the checks
  generate [--check]        write the generated files; --check fails when they differ
  image <name>              an OCI archive of one of our programs, without Docker
  bench [name]              measure, and write the figures into bench/
                            (operator takes --only, --objects and --large; rollouts --part and --soak;
                            manager and rollouts take --small, which writes nothing down)
  conformance               judge the CRD pairs of the corpus and print a table
  coverage                  line coverage of the workspace; fails below 85 %
  soak [minutes [crate]...] the long tests, on the oldest Kubernetes too
  deny                      licences, bans and sources of all dependencies
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> anyhow::Result<ExitCode> {
    let Some((command, rest)) = words.split_first() else {
        print!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    match *command {
        "setup" => setup::setup(&setup::Wanted::parse(rest)?)?,
        "test" => return test::test(&test::Wanted::parse(rest)?),
        "demo" => {
            setup::setup(&setup::Wanted::default())?;
            return workspace::run_lab(&[&["demo"], rest].concat());
        }
        "generate" => return workspace::generate(rest),
        "image" => return workspace::run_lab(&[&["image"], rest].concat()),
        "bench" => {
            let measurements = rest.first().is_none_or(|name| *name == "operator");
            setup::setup(&setup::Wanted { measurements, ..setup::Wanted::default() })?;
            return workspace::bench(rest);
        }
        "conformance" => return workspace::conformance(rest),
        "coverage" => {
            setup::setup(&setup::Wanted::default())?;
            return coverage::coverage(rest);
        }
        "soak" => {
            setup::setup(&setup::Wanted { oldest: true, ..setup::Wanted::default() })?;
            return test::soak(rest);
        }
        "deny" => return workspace::deny(),
        "help" | "--help" | "-h" => print!("{USAGE}"),
        unknown => bail!("there is no command {unknown:?}\n\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
