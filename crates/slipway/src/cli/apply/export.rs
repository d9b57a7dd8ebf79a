//! `slipway export`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use slipway_contract::settings::{Document, KindQuery};
use slipway_domain::document::schema;

use crate::cli::{Connection, OutputArgs, print};

/// Where the JSON Schemas of the documents are written, beside them; what begins with a dot is not applied.
const SCHEMAS: &str = ".schemas";

/// Print everything that can be kept in files.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Write a file for each thing below this directory instead, such as window/nights.yaml, and JSON
    /// Schemas that editors pick up.
    #[arg(long = "output", short = 'o', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Only this kind, such as Window.
    #[arg(long)]
    kind: Option<String>,
}

impl Export {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        connection.run(OutputArgs::default(), async |session| {
            let reply = session.client.export(&KindQuery { kind: self.kind.clone() }).await?;
            let Some(directory) = &self.directory else {
                let texts: Vec<String> =
                    reply.documents.iter().map(|document| text(document, None)).collect::<Result<_, _>>()?;
                return print(&texts.join("---\n"));
            };
            write_schemas(&directory.join(SCHEMAS))?;
            for document in &reply.documents {
                let folder = directory.join(document.kind.to_lowercase());
                fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
                let file = folder.join(format!("{}.yaml", file_name(&document.metadata.name)));
                let schema = format!("../{SCHEMAS}/{}.schema.json", document.kind);
                fs::write(&file, text(document, Some(&schema))?)
                    .with_context(|| format!("writing {}", file.display()))?;
            }
            let count = reply.documents.len();
            let what = if count == 1 { "document" } else { "documents" };
            session.say(&format!("wrote {count} {what} below {}", directory.display()))
        })
    }
}

/// A name as part of a path: anything that could lead elsewhere is left out.
fn file_name(name: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+');
    let name: String = name.chars().map(|c| if safe(c) { c } else { '_' }).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

fn write_schemas(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    for (kind, schema) in schema::all() {
        let file = directory.join(format!("{kind}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).context("writing a schema")? + "\n";
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// A document as YAML, in the order in which people write it, with the hint that editors look for.
fn text(document: &Document, schema: Option<&str>) -> anyhow::Result<String> {
    let name = serde_saphyr::to_string(&document.metadata.name).context("writing YAML")?;
    let spec = serde_saphyr::to_string(&document.spec).context("writing YAML")?;
    let mut text =
        schema.map(|schema| format!("# yaml-language-server: $schema={schema}\n")).unwrap_or_default();
    text.push_str(&format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n",
        document.api_version,
        document.kind,
        name.trim_end(),
    ));
    if document.spec.as_object().is_some_and(serde_json::Map::is_empty) {
        text.push_str("spec: {}\n");
        return Ok(text);
    }
    text.push_str("spec:\n");
    for line in spec.lines() {
        text.push_str(if line.is_empty() { "" } else { "  " });
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_contract::settings::Metadata;

    use super::*;

    #[test]
    fn what_is_exported_is_read_as_it_was() {
        let document = Document {
            api_version: "slipway.dev/v1".to_owned(),
            kind: "Window".to_owned(),
            metadata: Metadata { name: "nights".to_owned() },
            spec: json!({
                "mode": "Allow", "timeZone": "Europe/Berlin", "reason": "people sleep: \"quiet\"\nreally\n",
                "weekly": [{"days": ["Monday"], "from": "22:00", "to": "04:00"}], "on": "on", "n": "0777",
            }),
        };
        let text = text(&document, Some("../.schemas/Window.schema.json")).unwrap();
        let read = slipway_manifests::read(&text).unwrap();
        assert_eq!(read[0].value, serde_json::to_value(&document).unwrap(), "{text}");
        assert!(text.starts_with("# yaml-language-server: $schema="));
        assert_eq!(file_name("../../etc/passwd"), "_.._.._etc_passwd");
    }
}
