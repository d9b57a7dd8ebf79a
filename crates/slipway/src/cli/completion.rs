//! `slipway completion`.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};

use super::output::print;
use crate::command::Slipway;

/// The shells that completion is written for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Wanted {
    Bash,
    Zsh,
    Fish,
}

/// Print the completion of a shell.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// Which shell.
    #[arg(value_enum)]
    shell: Wanted,
}

impl Completion {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let shell = match self.shell {
            Wanted::Bash => Shell::Bash,
            Wanted::Zsh => Shell::Zsh,
            Wanted::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(shell, &mut Slipway::command(), "slipway", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
