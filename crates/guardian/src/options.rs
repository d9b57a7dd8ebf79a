//! What the guardian is told on its command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

/// How to run the program, when to end it, and what to remove afterwards.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program and its arguments; without one the guardian only removes.
    pub command: Vec<OsString>,
    /// End the program after this long, whatever it does.
    pub deadline: Option<Duration>,
    /// How long the program may take to end by itself before it is killed.
    pub grace: Duration,
    /// The signal that asks the program to end.
    pub stop_signal: Signal,
    /// Where the program's output goes; without it, where the guardian's goes.
    pub log: Option<PathBuf>,
    /// The user to run as, when started as root.
    pub user: Option<String>,
    /// The directory to run in.
    pub directory: Option<PathBuf>,
    /// Directories and files to remove once every process is gone.
    pub remove: Vec<PathBuf>,
    /// Control groups (relative to each hierarchy's root) to remove once every process is gone.
    pub remove_cgroups: Vec<String>,
    /// Be the first process of a process namespace: reap, and do nothing else.
    pub hold: bool,
    /// Become the program, on behalf of the guardian with this process id: the step between fork
    /// and exec that ties the program's life to the guardian's.
    pub(crate) become_for: Option<i32>,
}

/// A command line the guardian does not understand.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UsageError {
    /// An option that does not exist.
    #[error("there is no option {0:?}")]
    Unknown(String),
    /// An option without the value it needs.
    #[error("{0} needs a value")]
    Missing(&'static str),
    /// A value that does not fit its option.
    #[error("{option} cannot be {value:?}: {expected}")]
    Invalid {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Nothing to do at all.
    #[error("neither a program to run nor anything to remove was given")]
    Nothing,
}

impl Options {
    /// One screen of help.
    pub const USAGE: &'static str =
        "usage: guardian [--deadline SECONDS] [--grace SECONDS] [--stop-signal TERM|INT|QUIT|KILL]
                [--log FILE] [--user NAME] [--directory DIR]
                [--remove PATH]... [--remove-cgroup NAME]... [--] PROGRAM [ARGUMENT]...
       guardian --hold";

    /// Reads a command line, without the program's own name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut options = Self {
            command: Vec::new(),
            deadline: None,
            grace: Duration::from_secs(5),
            stop_signal: Signal::TERM,
            log: None,
            user: None,
            directory: None,
            remove: Vec::new(),
            remove_cgroups: Vec::new(),
            hold: false,
            become_for: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = |option| arguments.next().ok_or(UsageError::Missing(option));
            match argument.to_str() {
                Some("--deadline") => options.deadline = Some(seconds("--deadline", &value("--deadline")?)?),
                Some("--grace") => options.grace = seconds("--grace", &value("--grace")?)?,
                Some("--stop-signal") => options.stop_signal = signal(&value("--stop-signal")?)?,
                Some("--log") => options.log = Some(value("--log")?.into()),
                Some("--user") => options.user = Some(value("--user")?.to_string_lossy().into_owned()),
                Some("--directory") => options.directory = Some(value("--directory")?.into()),
                Some("--remove") => options.remove.push(value("--remove")?.into()),
                Some("--remove-cgroup") => {
                    options.remove_cgroups.push(value("--remove-cgroup")?.to_string_lossy().into_owned());
                }
                Some("--hold") => options.hold = true,
                Some("--become-for") => {
                    options.become_for = value("--become-for")?.to_str().and_then(|pid| pid.parse().ok());
                }
                Some("--") => {
                    options.command.extend(arguments);
                    break;
                }
                Some(unknown) if unknown.starts_with('-') => {
                    return Err(UsageError::Unknown(unknown.to_owned()));
                }
                _ => {
                    options.command.push(argument);
                    options.command.extend(arguments);
                    break;
                }
            }
        }
        let removes = !options.remove.is_empty() || !options.remove_cgroups.is_empty();
        if options.command.is_empty() && !removes && !options.hold {
            return Err(UsageError::Nothing);
        }
        Ok(options)
    }
}

fn seconds(option: &'static str, value: &OsString) -> Result<Duration, UsageError> {
    let text = value.to_string_lossy();
    text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        UsageError::Invalid { option, value: text.into_owned(), expected: "a number of seconds, such as 30" }
    })
}

fn signal(value: &OsString) -> Result<Signal, UsageError> {
    match value.to_str() {
        Some("TERM") => Ok(Signal::TERM),
        Some("INT") => Ok(Signal::INT),
        Some("QUIT") => Ok(Signal::QUIT),
        Some("KILL") => Ok(Signal::KILL),
        _ => Err(UsageError::Invalid {
            option: "--stop-signal",
            value: value.to_string_lossy().into_owned(),
            expected: "one of TERM, INT, QUIT, KILL",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, UsageError> {
        Options::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn everything_after_the_program_belongs_to_the_program() {
        let options = parse(&["--grace", "1.5", "sleep", "--deadline", "3"]).unwrap();
        assert_eq!(options.command, ["sleep", "--deadline", "3"]);
        assert_eq!(options.grace, Duration::from_millis(1500));
        assert_eq!(options.deadline, None);
    }

    #[test]
    fn a_double_dash_lets_a_program_begin_with_a_dash() {
        assert_eq!(parse(&["--deadline", "9", "--", "-odd"]).unwrap().command, ["-odd"]);
    }

    #[test]
    fn a_bad_command_line_names_what_is_wrong() {
        assert_eq!(parse(&["--nope"]).unwrap_err(), UsageError::Unknown("--nope".into()));
        assert_eq!(parse(&["--grace"]).unwrap_err(), UsageError::Missing("--grace"));
        assert_eq!(parse(&[]).unwrap_err(), UsageError::Nothing);
        let error = parse(&["--grace", "-1", "true"]).unwrap_err();
        assert_eq!(error.to_string(), "--grace cannot be \"-1\": a number of seconds, such as 30");
        let error = parse(&["--stop-signal", "HUP", "true"]).unwrap_err();
        assert_eq!(error.to_string(), "--stop-signal cannot be \"HUP\": one of TERM, INT, QUIT, KILL");
    }

    #[test]
    fn removing_needs_no_program() {
        let options = parse(&["--remove", "/tmp/a", "--remove-cgroup", "b"]).unwrap();
        assert_eq!(options.remove, [PathBuf::from("/tmp/a")]);
        assert_eq!(options.remove_cgroups, ["b"]);
        assert!(options.command.is_empty());
    }
}
