//! The commands and their arguments.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::crd::CrdCommand;

/// Roll Kubernetes operators out across a fleet of clusters, safely.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Slipway {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge changes of CustomResourceDefinitions: what breaks, for whom, and whether one can go back.
    Crd {
        #[command(subcommand)]
        command: CrdCommand,
    },
}

impl Slipway {
    /// Runs the command. The exit code is 2 when the input was bad.
    pub fn run(self) -> ExitCode {
        let outcome = match self.command {
            Command::Crd { command } => command.run(),
        };
        outcome.unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        })
    }
}
