//! All settings as a page, written from their table.

use std::fmt::Write as _;

use super::setting::{SETTINGS, Unset};

/// The settings of the server as Markdown.
pub(crate) fn markdown() -> String {
    let mut text = String::from(
        "# Settings of the server\n\n<!-- Written by `cargo xtask generate`; do not edit. -->\n\n\
         A file (`--config FILE`, YAML), the environment and flags, each over the one before. What is no \
         setting is an error. `slipway config check` prints every value and where it came from.\n\n\
         | In the file | Variable | Flag | Default | What it is |\n|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let flag = setting.flag.map_or_else(|| "–".to_owned(), |flag| format!("`--{flag}`"));
        let default = match setting.default {
            Unset::Nothing | Unset::Empty => "–".to_owned(),
            Unset::Value(value) => format!("`{value}`"),
            Unset::DataFolder => "`~/.local/share/slipway`; root: `/var/lib/slipway`".to_owned(),
        };
        // A string takes every write.
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {flag} | {default} | {} |",
            setting.key,
            setting.variable,
            setting.help.replace('|', "\\|")
        );
    }
    text
}
