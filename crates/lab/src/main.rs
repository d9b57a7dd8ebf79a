//! The local fleet and the demonstration, images of our programs, and the measurements.
//!
//! Built on the test kit's real parts; `cargo xtask demo | image | bench` run it.

mod bench;
mod demo;
mod fleet;
mod image;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "slipway-lab", version, about)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a fleet of three clusters, check it, and keep it until Ctrl-C.
    Demo {
        /// End after the checks.
        #[arg(long)]
        once: bool,
    },
    /// Write an OCI archive of one of our programs.
    Image {
        /// The program: probe, slipway.
        name: String,
        /// Compile quickly rather than well: for tests.
        #[arg(long)]
        fast: bool,
        /// Where to write it; by default below target/images.
        #[arg(long)]
        output: Option<PathBuf>,
    },
    /// Measure, and write the figures into bench/.
    Bench {
        /// Which suite; all of them unless told.
        name: Option<String>,
        #[command(flatten)]
        operator: bench::operator::Options,
        #[command(flatten)]
        manager: bench::manager::Options,
        #[command(flatten)]
        rollouts: bench::rollouts::Options,
    },
    /// One of the servers of a measurement, on clusters that are simulated.
    #[command(hide = true)]
    SimulatedServer(bench::rollouts::SimulatedServer),
}

#[tokio::main]
async fn main() -> ExitCode {
    slipway_testkit::init();
    let result = match Lab::parse().command {
        Command::Demo { once } => demo::demo(once).await,
        Command::Image { name, fast, output } => image::image(&name, fast, output),
        Command::Bench { name, operator, manager, rollouts } => {
            bench::bench(name.as_deref(), &operator, &manager, &rollouts).await
        }
        Command::SimulatedServer(server) => server.run().await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn commands_and_their_options_fit_together() {
        super::Lab::command().debug_assert();
    }
}
