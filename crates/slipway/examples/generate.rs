//! Writes the generated files of the repository, or says which of them are out of date.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

fn main() -> anyhow::Result<ExitCode> {
    let check = std::env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<(String, String)> = [
        ("docs/reference/cli.md", slipway::reference::markdown(&slipway::command::Slipway::command())),
        ("docs/reference/crd-findings.md", slipway_crd_compat::rules::reference_markdown()),
        ("docs/reference/openapi.json", slipway_contract::openapi_json()),
        ("docs/reference/cel.md", slipway::reference::cel()),
        ("docs/reference/server-settings.md", slipway::reference::settings()),
        (
            "docs/reference/operator-profile.schema.json",
            format!("{:#}\n", slipway_domain::profile::Profile::json_schema()),
        ),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text))
    .collect();
    for (kind, schema) in slipway_domain::document::schema::all() {
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        files.push((format!("docs/reference/schemas/{kind}.schema.json"), text));
    }
    let mut stale = 0;
    for (name, text) in files {
        let path = root.join(&name);
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
