//! References, written from the code they are about: the command line, the server's settings, and what of
//! CEL is evaluated.

use std::fmt::Write as _;

use clap::Command;

mod cel;

pub use cel::cel;

/// The command line reference as Markdown.
pub fn markdown(root: &Command) -> String {
    let mut root = root.clone().term_width(100);
    root.build();
    let mut text = String::from(
        "# Command line reference\n\n<!-- Written by `cargo xtask generate`; do not edit. -->\n",
    );
    write(&mut text, &mut root, "");
    text
}

/// The reference of the server's settings as Markdown.
pub fn settings() -> String {
    crate::config::reference()
}

fn write(text: &mut String, command: &mut Command, above: &str) {
    let name = if above.is_empty() {
        command.get_name().to_owned()
    } else {
        format!("{above} {}", command.get_name())
    };
    if !above.is_empty() {
        // Options that every command has are told once, at the top.
        *command = command.clone().mut_args(|argument| {
            let everywhere = argument.is_global_set() && argument.get_help_heading().is_some();
            argument.hide(everywhere)
        });
    }
    let help = command.render_long_help().to_string();
    // A string takes every write.
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end());
    for subcommand in command.get_subcommands_mut() {
        if subcommand.get_name() != "help" && !subcommand.is_hide_set() {
            write(text, subcommand, &name);
        }
    }
}
