//! The table of all keys, from the flags' own help.

use std::fmt::Write as _;

use clap::Args as _;

use super::flags::{Flags, VARIABLES, file_key};

pub(super) fn markdown() -> String {
    let command = Flags::augment_args(clap::Command::new("operator"));
    let mut table =
        String::from("| Flag | Environment | File | Default | What it is |\n|---|---|---|---|---|\n");
    for argument in command.get_arguments() {
        let Some(flag) = argument.get_long() else { continue };
        let field = argument.get_id().as_str();
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let (help, default) = bracket(&help, "default");
        let (help, _) = bracket(&help, "env");
        let mut variable = VARIABLES
            .iter()
            .find(|(name, _)| *name == field)
            .map_or_else(String::new, |(_, variable)| format!("`{variable}`"));
        if field == "admin_address" {
            variable.push_str(", or `PORT` alone");
        }
        let key = if field == "config" { String::new() } else { format!("`{}`", file_key(field)) };
        let values: Vec<String> =
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        let _ = writeln!(
            table,
            "| `--{flag}` | {variable} | {key} | {} | {help}{values} |",
            default.unwrap_or_default()
        );
    }
    table
}

/// Takes `[name: value]` out of a text.
fn bracket(text: &str, name: &str) -> (String, Option<String>) {
    let opening = format!("[{name}: ");
    let Some((before, after)) = text.split_once(&opening) else { return (text.trim().to_owned(), None) };
    let Some((value, rest)) = after.split_once(']') else { return (text.trim().to_owned(), None) };
    (format!("{}{}", before.trim_end(), rest).trim().to_owned(), Some(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_table_with_its_variable_as_its_help_says() {
        let command = Flags::augment_args(clap::Command::new("operator"));
        let arguments: Vec<_> =
            command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
        let keys: Vec<_> = VARIABLES.iter().map(|(field, _)| (*field).to_owned()).collect();
        assert_eq!(arguments, keys);
        for argument in command.get_arguments() {
            let help = argument.get_help().unwrap().to_string();
            let variable = VARIABLES.iter().find(|(field, _)| argument.get_id() == *field).unwrap().1;
            assert!(help.contains(&format!("[env: {variable}")), "{help}");
        }
        let table = markdown();
        assert!(
            table.contains(
                "| `--log-format` | `LOG_FORMAT` | `logFormat` | pretty on a terminal, else json | \
                 How it is logged: `json`, `pretty` |\n"
            ),
            "{table}"
        );
        assert!(table.contains(
            "| `--admin-address` | `ADMIN_ADDRESS`, or `PORT` alone | `adminAddress` | 0.0.0.0:3000 |"
        ));
        assert!(table.contains("| `--config` | `CONFIG` |  |  | The configuration file |\n"), "{table}");
    }
}
