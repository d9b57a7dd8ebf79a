//! The CRDs that a server has stored.

mod decide;
mod list;
mod show;
mod status;
mod validate;

pub(crate) use decide::{Approve, Deprecate};
pub(crate) use list::List;
pub(crate) use show::{History, Show};
pub(crate) use status::Status;
pub(crate) use validate::Validate;

use clap::Args;

use crate::cli::{Cell, Tone};

/// Whose CRD is meant.
#[derive(Debug, Args)]
struct Whose {
    /// The operator that brings it, where several do.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
}

/// The tone that goes with a severity.
fn severity(word: &str) -> Cell {
    let tone = match word {
        "breaking" => Tone::Bad,
        "risky" => Tone::Warning,
        _ => Tone::Quiet,
    };
    Cell::new(word, tone)
}

/// The tone that goes with a status.
fn status(word: &str) -> Cell {
    let tone = match word {
        "Deprecated" => Tone::Warning,
        "Removed" => Tone::Quiet,
        _ => Tone::Plain,
    };
    Cell::new(word, tone)
}

/// The tone that goes with an approval.
fn approval(word: &str) -> Cell {
    Cell::new(word, if word == "Pending" { Tone::Warning } else { Tone::Plain })
}
