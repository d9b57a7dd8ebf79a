//! Tables without lines: the thing first, one row per fact, colour only where it says something.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};

use super::output::colours;

/// What a word means to whoever reads it; colour only, so that a log has the same words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// To be looked at.
    Warning,
    /// Wrong.
    Bad,
    /// Beside the point.
    Quiet,
}

impl Tone {
    fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "31",
            Self::Quiet => "2",
        };
        if text.is_empty() { String::new() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
    }
}

/// A word of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// With a tone.
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        // A row is a line; what the world sends may hold anything, also what a terminal would obey.
        let text = text.into().replace(char::is_control, " ");
        Self { text, tone }
    }

    /// A health status with the tone that goes with it: `Healthy`, `Degraded`, `Unhealthy`, `Unknown`.
    pub(crate) fn health(status: impl Into<String>) -> Self {
        let status = status.into();
        let tone = match status.as_str() {
            "Healthy" => Tone::Good,
            "Degraded" => Tone::Warning,
            "Unhealthy" => Tone::Bad,
            _ => Tone::Quiet,
        };
        Self::new(status, tone)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or_else(|| Self::new("-", Tone::Quiet), Self::from)
    }
}

/// Rows under their headings; `none` is said where there are no rows.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>, none: &str) -> String {
    draw(headings, rows, none, colours())
}

/// The facts of one thing: a word and what it is, a line each.
pub(crate) fn facts(rows: impl IntoIterator<Item = (&'static str, Cell)>) -> String {
    let rows = rows.into_iter().map(|(word, value)| vec![Cell::new(word, Tone::Quiet), value]);
    draw(&[], rows, "", colours())
}

fn draw(headings: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>, none: &str, colours: bool) -> String {
    let heading: Vec<Cell> = headings.iter().map(|heading| Cell::new(*heading, Tone::Quiet)).collect();
    let mut cells: Vec<Vec<Cell>> = rows.into_iter().collect();
    if cells.is_empty() {
        return none.to_owned();
    }
    if !heading.is_empty() {
        cells.insert(0, heading);
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in &cells {
        table.add_row(row.iter().map(|cell| &cell.text));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text = String::new();
    for (line, row) in table.lines().zip(&cells) {
        let line = line.trim_end();
        text.push_str(&if colours { painted(line, row) } else { line.to_owned() });
        text.push('\n');
    }
    text
}

/// A line that is laid out, with the colours of its cells: they must not count when columns are measured.
fn painted(line: &str, row: &[Cell]) -> String {
    let mut out = String::new();
    let mut rest = line;
    for cell in row {
        let word = cell.text.trim();
        let Some(at) = rest.find(word) else { continue };
        out.push_str(&rest[..at]);
        out.push_str(&cell.tone.paint(word));
        rest = &rest[at + word.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_without_lines() {
        let rows = vec![
            vec!["prod-eu".into(), Cell::health("Healthy"), "v1.33.1".into()],
            vec!["edge".into(), Cell::health("Unhealthy"), None.into()],
        ];
        insta::assert_snapshot!(draw(&["NAME", "HEALTH", "VERSION"], rows, "none", false), @r"
        NAME     HEALTH     VERSION
        prod-eu  Healthy    v1.33.1
        edge     Unhealthy  -
        ");
        assert_eq!(
            draw(&["NAME"], [], "no clusters; add one: slipway cluster add", false),
            "no clusters; add one: slipway cluster add"
        );
    }

    #[test]
    fn facts_are_a_line_each() {
        insta::assert_snapshot!(
            draw(&[], [vec!["name".into(), "prod-eu".into()], vec!["health".into(), "Healthy".into()]], "", false),
            @r"
        name    prod-eu
        health  Healthy
        "
        );
    }

    #[test]
    fn colour_is_the_only_difference_on_a_terminal() {
        let text = draw(&[], [vec![Cell::health("Unhealthy")]], "", true);
        assert_eq!(text, "\u{1b}[31mUnhealthy\u{1b}[0m\n");
        assert_eq!(draw(&[], [vec!["a\u{1b}[31mb".into()]], "", false), "a [31mb\n", "nothing is obeyed");
    }
}
