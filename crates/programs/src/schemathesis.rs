//! Schemathesis, which asks a server whether it keeps to its own OpenAPI document.

use std::path::PathBuf;

use crate::cache_directory;

/// The version that tests are written for.
pub const SCHEMATHESIS_VERSION: &str = "4.32.5";

/// Where setup puts it: an environment of Python of its own.
pub fn schemathesis_directory() -> PathBuf {
    cache_directory().join(format!("tools/schemathesis-{SCHEMATHESIS_VERSION}"))
}

/// The program, where it is installed. It is optional: without it one test is skipped.
pub fn schemathesis() -> Option<PathBuf> {
    let program = schemathesis_directory().join("bin/schemathesis");
    program.is_file().then_some(program)
}
