//! Failures in words: what the server says, where, and what to do next.

use std::error::Error;
use std::process::ExitCode;

use slipway_client::ClientError;

/// What the exit code of a command says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It did not work.
    Failed = 1,
    /// The input was bad.
    Input = 2,
    /// Not logged in, or not allowed.
    Access = 3,
    /// There is no such thing.
    NotFound = 4,
    /// The server does not answer, or cannot work now.
    Unavailable = 5,
}

/// What exit codes mean, for the help.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 refused or failed, 2 bad input, 3 not logged in or not allowed, \
4 no such thing, 5 the server does not answer.";

/// Something that a command looked for and that is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Missing(pub(crate) String);

impl Failure {
    /// Of an error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if error.is::<Missing>() {
            return Self::NotFound;
        }
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Refused { status, .. }) => match status {
                400 | 413 | 415 | 422 => Self::Input,
                401 | 403 => Self::Access,
                404 => Self::NotFound,
                429 | 502..=504 => Self::Unavailable,
                _ => Self::Failed,
            },
            Some(ClientError::Unreachable { .. }) => Self::Unavailable,
            Some(ClientError::Strange { .. } | ClientError::Setup(_)) => Self::Failed,
            // Of this machine: files, addresses, arguments.
            _ => Self::Input,
        }
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure as u8)
    }
}

/// Says on standard error what went wrong, and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    eprint!("{}", words(error));
    Failure::of(error).into()
}

fn words(error: &anyhow::Error) -> String {
    let Some(client) = error.downcast_ref::<ClientError>() else {
        return format!("error: {error:#}\n");
    };
    let mut text = format!("error: {client}\n");
    let mut line = |words: String| {
        text.push_str("  ");
        text.push_str(&words);
        text.push('\n');
    };
    match client {
        ClientError::Refused { status, body } => {
            for detail in &body.details {
                let place = detail.path.as_ref().or(detail.cluster.as_ref());
                let said = place
                    .map_or_else(|| detail.message.clone(), |place| format!("{place} {}", detail.message));
                // One problem is the sentence itself.
                if !body.message.contains(&said) {
                    line(said);
                }
            }
            match status {
                401 if !body.message.contains("slipway login") => line("log in: slipway login".to_owned()),
                429 | 503 => line("nothing was changed; try again in a moment".to_owned()),
                _ => {}
            }
            if *status >= 500 {
                line(format!("trace id {} finds it in the server's logs", body.trace_id));
            }
        }
        ClientError::Unreachable { source, .. } => {
            line(reason(source));
            line("is it the right server? see: slipway context list".to_owned());
        }
        ClientError::Strange { .. } => {
            line("is it the right address and port? see: slipway context list".to_owned());
        }
        ClientError::Authorities { source, .. } => line(source.to_string()),
        other => {
            if let Some(source) = other.source() {
                line(reason(source));
            }
        }
    }
    text
}

/// The innermost cause: the others say only that something failed.
fn reason(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use slipway_contract::error::{ErrorBody, ErrorDetail};

    use super::*;

    fn refused(status: u16, message: &str, details: &[(&str, &str)]) -> anyhow::Error {
        let details = details.iter().map(|(path, message)| ErrorDetail {
            path: Some((*path).to_owned()),
            cluster: None,
            message: (*message).to_owned(),
        });
        ClientError::Refused {
            status,
            body: Box::new(ErrorBody {
                code: "X".to_owned(),
                message: message.to_owned(),
                details: details.collect(),
                trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
                timestamp: jiff::Timestamp::UNIX_EPOCH,
            }),
        }
        .into()
    }

    #[test]
    fn every_problem_of_the_input_has_its_line() {
        let error = refused(
            400,
            "2 problems",
            &[("name", "is longer than 63 characters"), ("labels.team", "is empty")],
        );
        insta::assert_snapshot!(words(&error), @r"
        error: 2 problems
          name is longer than 63 characters
          labels.team is empty
        ");
        assert_eq!(Failure::of(&error), Failure::Input);
    }

    #[test]
    fn what_is_our_fault_names_the_trace() {
        let error = refused(500, "something went wrong here; the trace id finds it in the logs", &[]);
        insta::assert_snapshot!(words(&error), @r"
        error: something went wrong here; the trace id finds it in the logs
          trace id 4bf92f3577b34da6a3ce929d0e0e4736 finds it in the server's logs
        ");
        assert_eq!(Failure::of(&error), Failure::Failed);
    }

    #[test]
    fn whoever_is_not_logged_in_is_told_how() {
        let error = refused(401, "the token has ended", &[]);
        insta::assert_snapshot!(words(&error), @r"
        error: the token has ended
          log in: slipway login
        ");
        assert_eq!(Failure::of(&error), Failure::Access);
        assert_eq!(Failure::of(&refused(404, "there is no cluster eu", &[])), Failure::NotFound);
    }

    #[test]
    fn errors_of_this_machine_say_their_chain() {
        let error = anyhow::anyhow!("no such file").context("reading the token");
        assert_eq!(words(&error), "error: reading the token: no such file\n");
        assert_eq!(Failure::of(&error), Failure::Input);
    }
}
