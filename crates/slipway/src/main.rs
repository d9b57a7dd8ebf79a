//! The `slipway` program; what it does is in the library.

use std::process::ExitCode;

/// Reading a CRD makes tens of thousands of small values, and allocation was a fifth of the work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    slipway::main()
}
