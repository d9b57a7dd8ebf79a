//! The `slipway` program; what it does is in the library.

use std::process::ExitCode;

/// Reading a CRD makes tens of thousands of small values; this allocator makes them in half the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    slipway::main()
}
