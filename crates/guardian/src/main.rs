//! The `guardian` program; what it does is in the library.

use std::process::ExitCode;

use slipway_guardian::{Options, guard, hold};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("guardian: {error}\n{}", Options::USAGE);
            return ExitCode::from(2);
        }
    };
    if options.hold {
        return hold();
    }
    match guard(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("guardian: {error}");
            ExitCode::from(127)
        }
    }
}
