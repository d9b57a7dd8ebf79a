//! `slipway audit`.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use slipway_contract::audit::{AuditExportQuery, AuditList, AuditQuery};

use super::{Cell, Session, Tone, table};

/// What was done.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List what was done, tried and refused, the newest first.
    List(List),
    /// Print everything that was done, the oldest first, a line of JSON each.
    ///
    /// Each line has a number; --after goes on where an export stopped. The export itself is written
    /// down.
    Export(Export),
}

#[derive(Debug, Args)]
struct Wanted {
    /// Only by this one.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this action, such as cluster.register; with a dot at its end, all that begin so.
    #[arg(long)]
    action: Option<String>,
    /// Only to this resource, such as cluster/prod-eu.
    #[arg(long)]
    resource: Option<String>,
    /// Only with this end: success, failure or denied.
    #[arg(long)]
    result: Option<String>,
    /// Only of this trace.
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Only from this time on, such as 2h (ago) or 2026-11-15T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    wanted: Wanted,
    /// How many, 1 to 100.
    #[arg(long, default_value_t = 20)]
    limit: i64,
    /// After how many.
    #[arg(long, default_value_t = 0)]
    offset: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    wanted: Wanted,
    /// Only after this number: the last of an export before.
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
    /// Write to this file instead of standard output; what is there stays, and lines are added.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// A time, or how long ago.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let wrong =
        || format!("{text:?} is neither a time such as 2026-11-15T08:00:00Z nor how long ago, such as 2h");
    let ago: SignedDuration = match text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()) {
        Some(days) => SignedDuration::from_hours(days.checked_mul(24).ok_or_else(wrong)?),
        None => text.parse().map_err(|_| wrong())?,
    };
    Timestamp::now().checked_sub(ago).map_err(|_| wrong())
}

impl AuditCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Export(export) => export.run(session).await,
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let wanted = self.wanted;
        let query = AuditQuery {
            actor: wanted.actor,
            action: wanted.action,
            resource: wanted.resource,
            result: wanted.result,
            trace_id: wanted.trace,
            since: wanted.since,
            until: wanted.until,
            limit: Some(self.limit),
            offset: Some(self.offset),
        };
        let list = session.client.audit(&query).await?;
        session.show(&list, people)
    }
}

/// Times are absolute here: whoever reads this investigates.
fn people(list: &AuditList) -> String {
    let rows = list.entries.iter().map(|entry| {
        let tone = match entry.result.as_str() {
            "denied" => Tone::Warning,
            "failure" => Tone::Bad,
            _ => Tone::Quiet,
        };
        vec![
            entry.timestamp.strftime("%Y-%m-%d %H:%M:%SZ").to_string().into(),
            (&entry.actor).into(),
            (&entry.action).into(),
            (&entry.resource).into(),
            Cell::new(&entry.result, tone),
            (&entry.message).into(),
        ]
    });
    let headings = ["WHEN", "WHO", "ACTION", "RESOURCE", "RESULT", "WHAT"];
    let mut text = table(&headings, rows, "nothing of that kind was done");
    if let Some(next) = list.page.next_offset {
        text.push_str(&format!("{} in all; go on with --offset {next}\n", list.page.total));
    }
    text
}

impl Export {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let wanted = self.wanted;
        let query = AuditExportQuery {
            after: self.after,
            actor: wanted.actor,
            action: wanted.action,
            resource: wanted.resource,
            result: wanted.result,
            trace_id: wanted.trace,
            since: wanted.since,
            until: wanted.until,
        };
        let mut out: Box<dyn std::io::Write> = match &self.file {
            None => Box::new(std::io::stdout().lock()),
            Some(file) => Box::new(
                std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(file)
                    .with_context(|| format!("{} cannot be written", file.display()))?,
            ),
        };
        let mut lines = std::pin::pin!(session.client.export_audit(&query).await?);
        while let Some(bytes) = lines.next().await {
            match out.write_all(&bytes?) {
                // A reader that has seen enough (`| head`) is no error.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                written => written.context("writing the audit")?,
            }
        }
        match out.flush() {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed.context("writing the audit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_contract::audit::AuditEntry;
    use slipway_contract::page::PageInfo;

    use super::*;

    #[test]
    fn a_time_is_a_moment_or_how_long_ago() {
        assert_eq!(moment("1970-01-01T00:00:10Z").unwrap().as_second(), 10);
        let day = Timestamp::now().duration_since(moment("1d").unwrap());
        assert!((day - SignedDuration::from_hours(24)).abs() < SignedDuration::from_mins(1));
        assert!(moment("90m").is_ok() && moment("1h 30m").is_ok());
        assert!(moment("yesterday").unwrap_err().contains("such as 2h"));
    }

    #[test]
    fn entries_are_told_with_their_time() {
        let entry = AuditEntry {
            number: 7,
            timestamp: Timestamp::UNIX_EPOCH,
            actor_kind: "user".to_owned(),
            actor: "ada".to_owned(),
            source: None,
            trace_id: None,
            action: "cluster.register".to_owned(),
            resource: "cluster/prod-eu".to_owned(),
            result: "success".to_owned(),
            message: "registered prod-eu".to_owned(),
            before: None,
            after: None,
        };
        let page = PageInfo { total: 9, limit: 1, offset: 0, has_more: true, next_offset: Some(1) };
        insta::assert_snapshot!(people(&AuditList { entries: vec![entry], page }), @r"
        WHEN                  WHO  ACTION            RESOURCE         RESULT   WHAT
        1970-01-01 00:00:00Z  ada  cluster.register  cluster/prod-eu  success  registered prod-eu
        9 in all; go on with --offset 1
        ");
    }
}
