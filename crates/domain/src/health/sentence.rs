//! Small pieces of the sentences that reasons are made of.

use std::fmt::Write as _;
use std::time::Duration;

/// `40 s`, `12 min`, `3 h` or `5 days`: the largest unit that leaves a number of two or more.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// `1 pod`, `2 pods`.
pub(super) fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The first few names, and how many more there are.
pub(super) fn some(names: &[String], total: usize) -> String {
    let shown = names.len().min(3);
    let mut text = names[..shown].join(", ");
    if total > shown {
        let _ = write!(text, " and {} more", total - shown);
    }
    text
}

/// The text, cut where it gets long.
pub(super) fn short(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
