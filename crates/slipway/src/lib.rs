//! The `slipway` program: every command, and what each prints.
//!
//! A library, so that the command line reference is generated from the commands themselves and
//! tests can call them; `main.rs` only runs it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to people")]

mod cli;
pub mod command;
mod config;
mod crd;
mod db;
pub mod reference;
mod serve;

use std::process::ExitCode;

use clap::Parser;

/// Reads the command line and runs the command.
pub fn main() -> ExitCode {
    if let Some(code) = serve::as_guardian() {
        return code;
    }
    // An error means that a provider is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let arguments = match command::Slipway::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    arguments.run()
}
