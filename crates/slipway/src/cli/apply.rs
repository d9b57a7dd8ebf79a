//! `slipway apply`, `slipway diff` and `slipway export`: things kept in files.

mod export;
mod files;

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use slipway_contract::settings::{ApplyOutcome, ApplyReply, ApplyRequest, ApplyResult};

use super::{Connection, OutputArgs};
use files::Files;

pub(crate) use export::Export;

/// Which files.
#[derive(Debug, Args)]
struct Named {
    /// A file, a directory and all below it, or - for standard input; may be given more than once.
    #[arg(long = "file", short = 'f', required = true, value_name = "FILE|DIR")]
    files: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Make things as files want them.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    named: Named,
    /// Only say what would change.
    #[arg(long)]
    dry_run: bool,
}

/// Say what applying files would change.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    named: Named,
}

impl Apply {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        run(connection, &self.named, self.dry_run).map(|_| ExitCode::SUCCESS)
    }
}

impl Diff {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        let changed = run(connection, &self.named, true)?;
        Ok(if changed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Applies, prints, and says how many things changed or would.
fn run(connection: &Connection, named: &Named, dry_run: bool) -> anyhow::Result<u64> {
    let files = Files::read(&named.files)?;
    let request = ApplyRequest { documents: files.values(), dry_run };
    let mut changed = 0;
    connection.run(named.output, async |session| {
        let reply = session.client.apply(&request).await.map_err(|error| files.placed(error))?;
        changed = reply.changed;
        session.show(&reply, people)
    })?;
    Ok(changed)
}

fn people(reply: &ApplyReply) -> String {
    let mut text = String::new();
    for result in reply.results.iter().filter(|one| one.outcome != ApplyOutcome::Unchanged) {
        let word = match (result.outcome, reply.dry_run) {
            (ApplyOutcome::Created, true) => "create",
            (ApplyOutcome::Created, false) => "created",
            (_, true) => "change",
            (_, false) => "changed",
        };
        text.push_str(&format!("{word}  {} {}\n", result.kind, result.name));
        text.push_str(&differences(result));
    }
    let count = |outcome| reply.results.iter().filter(|one| one.outcome == outcome).count();
    let (create, change) = if reply.dry_run { ("to create", "to change") } else { ("created", "changed") };
    let counts = [
        (count(ApplyOutcome::Created), create),
        (count(ApplyOutcome::Changed), change),
        (count(ApplyOutcome::Unchanged), "unchanged"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let end = if reply.dry_run && reply.changed > 0 { " (nothing was written)" } else { "" };
    text.push_str(&format!("{}{end}\n", counts.join(", ")));
    let made = |one: &&ApplyResult| one.kind == "User" && one.outcome == ApplyOutcome::Created;
    for user in reply.results.iter().filter(made).filter(|_| !reply.dry_run) {
        text.push_str(&format!("give {0} a password: slipway user reset-password {0}\n", user.name));
    }
    text
}

/// What is new needs no before; what goes needs no after.
fn differences(result: &ApplyResult) -> String {
    let mut text = String::new();
    let width = result.differences.iter().map(|one| one.path.chars().count()).max().unwrap_or(0);
    for one in &result.differences {
        let told = match (&one.before, &one.after) {
            (Some(before), Some(after)) => format!("{} → {}", short(before), short(after)),
            (None, Some(after)) => short(after),
            (Some(before), None) => format!("{} → nothing", short(before)),
            (None, None) => continue,
        };
        text.push_str(&format!("  {:width$}  {told}\n", one.path));
    }
    text
}

/// A value on one line, cut where it would fill the screen.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 100 {
        let cut: String = text.chars().take(99).collect();
        return format!("{cut}…");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_contract::settings::FieldDifference;

    use super::*;

    #[test]
    fn what_changes_is_told_field_by_field() {
        let result = |name: &str, outcome, differences| ApplyResult {
            kind: "Window".to_owned(),
            name: name.to_owned(),
            outcome,
            differences,
        };
        let field = |path: &str, before, after| FieldDifference { path: path.to_owned(), before, after };
        let reply = ApplyReply {
            dry_run: true,
            changed: 2,
            results: vec![
                result("days", ApplyOutcome::Unchanged, Vec::new()),
                result("freeze", ApplyOutcome::Created, vec![field("mode", None, Some(json!("Freeze")))]),
                result(
                    "nights",
                    ApplyOutcome::Changed,
                    vec![
                        field("weekly[0].to", Some(json!("04:00")), Some(json!("05:00"))),
                        field("reason", Some(json!("sleep")), None),
                    ],
                ),
            ],
        };
        insta::assert_snapshot!(people(&reply), @r#"
        create  Window freeze
          mode  "Freeze"
        change  Window nights
          weekly[0].to  "04:00" → "05:00"
          reason        "sleep" → nothing
        1 to create, 1 to change, 1 unchanged (nothing was written)
        "#);
    }

    #[test]
    fn somebody_new_needs_a_password_still() {
        let result = ApplyResult {
            kind: "User".to_owned(),
            name: "ada".to_owned(),
            outcome: ApplyOutcome::Created,
            differences: vec![FieldDifference {
                path: "role".to_owned(),
                before: None,
                after: Some(json!("Viewer")),
            }],
        };
        let reply = ApplyReply { dry_run: false, changed: 1, results: vec![result] };
        insta::assert_snapshot!(people(&reply), @r#"
        created  User ada
          role  "Viewer"
        1 created
        give ada a password: slipway user reset-password ada
        "#);
    }
}
