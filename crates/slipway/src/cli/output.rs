//! Answers: tables for people, the wire's own types for scripts.

use std::io::{ErrorKind, IsTerminal, Write, stdout};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// How an answer is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: exactly what the server sends.
    Json,
    /// The same as YAML.
    Yaml,
}

/// The option that chooses how an answer is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OutputArgs {
    /// How to print the answer.
    #[arg(long = "output", short = 'o', value_enum, default_value_t, global = true, value_name = "FORMAT")]
    pub(crate) format: Format,
}

impl Format {
    /// An answer as text: `people` writes it for people.
    pub(crate) fn render<T: Serialize>(
        self,
        value: &T,
        people: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<String> {
        let mut text = match self {
            Self::Table => people(value),
            Self::Json => serde_json::to_string_pretty(value).context("writing the answer as JSON")?,
            Self::Yaml => {
                // By way of JSON, so that both have the same fields in the same words.
                let value = serde_json::to_value(value).context("writing the answer")?;
                serde_saphyr::to_string(&value).context("writing the answer as YAML")?
            }
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

/// Writes to standard output; a reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("writing to standard output"),
    }
}

/// Whether colours are wanted: on a terminal whose owner did not decline them.
pub(crate) fn colours() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scripts_get_what_the_server_sends() {
        let value = json!({"name": "prod-eu", "nodes": 3, "none": null});
        let text = |format: Format| format.render(&value, |_| "prod-eu  3 nodes".to_owned()).unwrap();
        assert_eq!(text(Format::Table), "prod-eu  3 nodes\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text(Format::Json)).unwrap(), value);
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&text(Format::Yaml)).unwrap(), value);
    }
}
