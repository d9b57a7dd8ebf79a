//! The commands and their arguments.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

/// Roll Kubernetes operators out across a fleet of clusters, safely.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, max_term_width = 100)]
pub struct Slipway {}

impl Slipway {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let _ = Self::command().print_help();
        ExitCode::from(2)
    }
}
