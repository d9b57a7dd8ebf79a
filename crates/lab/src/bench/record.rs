//! Writing figures down, beside the machine they were seen on.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Writes `bench/<name>.md`: what was measured, how, and what was seen.
pub(crate) fn write(name: &str, title: &str, explanation: &str, table: &str) -> anyhow::Result<()> {
    write_made_by(name, name, title, explanation, table)
}

/// The same, of a suite that was given options: `command` is its name with them.
pub(crate) fn write_made_by(
    name: &str,
    command: &str,
    title: &str,
    explanation: &str,
    table: &str,
) -> anyhow::Result<()> {
    let directory = Path::new("bench");
    fs::create_dir_all(directory)?;
    let path = directory.join(format!("{name}.md"));
    let text = format!(
        "# {title}\n\n{explanation}\n\n{table}\nMade by `cargo xtask bench {command}` on {}.\n",
        machine().trim_end()
    );
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}

/// The machine in a few words.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "an unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes / 1024 / 1024);
    format!("{cores} cores ({model}), {memory} GiB")
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim().to_owned()))
}
