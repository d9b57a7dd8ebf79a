//! Runs a program and ends it, with everything it started, when its owner is gone.
//!
//! The owner holds the write end of the guardian's standard input. When that closes, because the
//! owner let go or because it was killed, the guardian ends the program and every process that
//! descends from it, removes what it was told to remove, and exits. It is a subreaper, so that
//! not even a daemon that left its session can slip away.
//!
//! A parent-death signal alone does not do: it fires with the *thread* that spawned, and it does
//! not reach grandchildren.
//!
//! The guardian knows nothing of what it runs, and starts nothing else.

mod options;
mod remains;
mod tree;
mod watch;

pub use options::{Options, UsageError};
pub use watch::{guard, hold};
