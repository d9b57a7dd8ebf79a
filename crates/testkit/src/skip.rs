//! Saying which test was skipped, and why.

use std::env;
use std::fs::File;
use std::io::Write;

/// Notes that the running test is skipped; `cargo xtask test` names it in its summary.
pub fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    println!("skipped: {reason}");
    if let Some(notes) = env::var_os("SLIPWAY_SKIPPED")
        && let Ok(mut file) = File::options().create(true).append(true).open(notes)
    {
        // A note that cannot be written must not fail the test.
        let _ = writeln!(file, "{test}\t{reason}");
    }
}
