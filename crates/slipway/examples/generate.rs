//! Writes the generated files of the repository, or says which of them are out of date.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

fn main() -> anyhow::Result<ExitCode> {
    let check = std::env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = [
        ("docs/reference/cli.md", slipway::reference::markdown(&slipway::command::Slipway::command())),
        ("docs/reference/crd-findings.md", slipway_crd_compat::rules::reference_markdown()),
        ("docs/reference/cel.md", slipway::reference::cel()),
    ];
    let mut stale = 0;
    for (name, text) in files {
        let path = root.join(name);
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        if check {
            eprintln!("{name} is out of date; run: cargo xtask generate");
            stale += 1;
        } else {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            fs::write(&path, text).with_context(|| format!("writing {name}"))?;
            println!("wrote {name}");
        }
    }
    Ok(if stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
