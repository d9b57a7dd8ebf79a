//! Asking people, without showing what must not be seen.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use zeroize::Zeroizing;

/// Turns the terminal's echo off while a line is read, and on again whatever happens: the shell outlives an
/// interrupt long enough to do so, which this program would not.
const SILENT: &str =
    "trap 'stty echo' EXIT; trap 'exit 130' INT TERM HUP; stty -echo; IFS= read -r line; printf %s \"$line\"";

fn terminal() -> anyhow::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .context("there is no terminal to ask on; use --username and --password-stdin")
}

/// A line.
pub(crate) fn line(question: &str) -> anyhow::Result<String> {
    let mut terminal = terminal()?;
    terminal.write_all(question.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    let answer = answer.trim();
    if answer.is_empty() {
        bail!("nothing was typed");
    }
    Ok(answer.to_owned())
}

/// A line that is not shown.
pub(crate) fn secret(question: &str) -> anyhow::Result<Zeroizing<String>> {
    let mut terminal = terminal()?;
    terminal.write_all(question.as_bytes())?;
    let answer = Command::new("sh")
        .args(["-c", SILENT])
        .stdin(terminal.try_clone()?)
        .stdout(Stdio::piped())
        .output()
        .context("asking without showing the answer")?;
    terminal.write_all(b"\n")?;
    if !answer.status.success() {
        bail!("nothing was typed");
    }
    let text = String::from_utf8(answer.stdout).context("what was typed is not UTF-8")?;
    if text.is_empty() {
        bail!("nothing was typed");
    }
    Ok(Zeroizing::new(text))
}

/// A new password, typed twice.
pub(crate) fn new_secret() -> anyhow::Result<Zeroizing<String>> {
    let new = secret("New password: ")?;
    if *secret("New password again: ")? != *new {
        bail!("the two are not the same; nothing was changed");
    }
    Ok(new)
}
