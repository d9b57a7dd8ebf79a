//! Lines, bars and times.

use jiff::SignedDuration;

/// Where what stands beside the words begins.
const BESIDE: usize = 62;
/// How wide labels are.
const LABEL: usize = 11;

/// A line in the making: a label, a sign, words, and what stands beside them.
#[derive(Debug)]
pub(super) struct Line(String);

impl Line {
    pub(super) fn new(label: &str, sign: &str) -> Self {
        let sign = if sign.is_empty() { String::new() } else { format!("{sign} ") };
        Self(format!("  {label:<LABEL$}{}{sign}", if label.chars().count() >= LABEL { " " } else { "" }))
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        // A line is one, whatever the world sends; nothing of it is obeyed by a terminal.
        self.0.push_str(&text.replace(char::is_control, " "));
        self
    }

    pub(super) fn right(mut self, text: &str) -> String {
        if !text.is_empty() {
            let gap = BESIDE.saturating_sub(width(&self.0)).max(2);
            self.0.push_str(&" ".repeat(gap));
            self.0.push_str(text);
        }
        self.end()
    }

    pub(super) fn end(self) -> String {
        self.0.trim_end().to_owned()
    }
}

/// How wide a text is on a terminal; all that is written here is one wide.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// A line that fits, with a sign where something is missing.
pub(super) fn cut(line: &str, most: usize) -> String {
    if width(line) <= most {
        return line.to_owned();
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A bar of so many signs.
pub(super) fn bar(part: f64, wide: u16) -> String {
    let full = (0..wide).filter(|place| f64::from(*place) + 0.5 <= part * f64::from(wide)).count();
    format!("{}{}", "█".repeat(full), "░".repeat(usize::from(wide) - full))
}

/// A time that runs down: `3:12`, `1:02:03`.
pub(super) fn clock(left: SignedDuration) -> String {
    let seconds = left.as_secs().max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A time that passed: `41s`, `8m41s`, `2h05m`, `3d04h`.
pub(super) fn span(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_bars_are_short() {
        let seconds = |seconds| SignedDuration::from_secs(seconds);
        assert_eq!([192, 3_723, -5].map(|left| clock(seconds(left))), ["3:12", "1:02:03", "0:00"]);
        assert_eq!(
            [41, 521, 7_500, 273_600].map(|all| span(seconds(all))),
            ["41s", "8m41s", "2h05m", "3d04h"]
        );
        assert_eq!(bar(0.0, 4), "░░░░");
        assert_eq!(bar(0.5, 4), "██░░");
        assert_eq!(bar(1.0, 4), "████");
    }

    #[test]
    fn a_line_is_one_line_and_fits() {
        let line = Line::new("failed", "✗").text("edge: a\nb\u{1b}[31m").end();
        assert_eq!(line, "  failed     ✗ edge: a b [31m");
        assert_eq!(cut(&line, 12), "  failed   …");
    }
}
