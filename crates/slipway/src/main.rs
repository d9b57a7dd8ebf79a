//! The `slipway` program; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    slipway::main()
}
