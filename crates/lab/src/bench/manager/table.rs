//! What was seen, beside what was asked for.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Context;

use super::super::seen::Seen;
use super::super::usage::Memory;
use super::Sizes;
use super::health::{Looks, PARTS, Parts};

/// The figures of one run.
pub(super) struct Table {
    pub(super) sizes: Sizes,
    pub(super) clusters: Seen,
    pub(super) operators: Seen,
    /// The path, how long it took, and how much of a processor the server needed.
    pub(super) lists: Vec<(&'static str, Seen, f64)>,
    pub(super) looks: Looks,
    pub(super) empty: Memory,
    pub(super) full: Memory,
}

/// What the specification asks of a part: p50, p95 and p99.
fn asked(part: &str) -> &'static str {
    match part {
        "pods" => "100, 300, 500 ms",
        "webhooks" => "200, 500, 1000 ms",
        "reconciliation" => "500, 1000, 2000 ms",
        _ => "1, 2, 3 s",
    }
}

impl Table {
    pub(super) fn explanation(&self) -> String {
        let Sizes { operators, clusters, planes, objects, many_objects, rate, length, .. } = self.sizes;
        format!(
            "The released program on a PostgreSQL server that waits for its disk, with {operators} operators and \
             {clusters} clusters registered: {planes} control planes of their own, each with an operator (two pods on \
             a kwok node, a webhook, {objects} custom resources, {many_objects} on the last one), and an empty control \
             plane under the other names. All of it shares this machine, and the server's own loops run throughout: \
             every cluster each 60 s, every operator on every cluster each 30 s. GET: {rate} requests a second for \
             {} s, whether or not the ones before were answered, of many callers; times count from the moment in which \
             a request was due. POST: two at once, the check of the cluster or repository included. Looks: one after \
             the other, from the manager's own spans, webhooks asked by dry run through the API server, every object \
             read as it is now.",
            length.as_secs()
        )
    }

    pub(super) fn text(&self) -> anyhow::Result<String> {
        let mut text =
            String::from("| What | Times | p50 | p95 | p99 | Asked for |\n|---|---|---|---|---|---|\n");
        for (path, seen, used) in &self.lists {
            let name = format!("GET /{path} ({used:.2} processors)");
            row(&mut text, &name, seen, "p99 under 100 ms")?;
        }
        row(&mut text, "POST /clusters", &self.clusters, "p99 under 500 ms")?;
        row(&mut text, "POST /operators", &self.operators, "p99 under 500 ms")?;
        let (objects, many) = (self.sizes.objects, self.sizes.many_objects);
        for (parts, count) in [(&self.looks.usual, objects), (&self.looks.many, many)] {
            for (span, name) in PARTS {
                row(&mut text, &format!("{name}, {count} objects"), of(parts, span)?, asked(name))?;
            }
        }
        let _ = write!(
            text,
            "\n| Memory of the server | Resident | Most | Asked for |\n|---|---|---|---|\n\
             | after its start | {} | {} | – |\n| with everything, under load | {} | {} | under 150 MB |\n",
            megabytes(self.empty.resident),
            megabytes(self.empty.peak),
            megabytes(self.full.resident),
            megabytes(self.full.peak),
        );
        Ok(text)
    }
}

fn of<'a>(parts: &'a Parts, span: &str) -> anyhow::Result<&'a Seen> {
    parts.get(span).with_context(|| format!("there was no span {span}"))
}

fn row(text: &mut String, name: &str, seen: &Seen, asked: &str) -> anyhow::Result<()> {
    let at = |percent| seen.percentile(percent).with_context(|| format!("{name} was never timed"));
    let (p50, p95, p99) = (at(50)?, at(95)?, at(99)?);
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {asked} |",
        seen.len(),
        milliseconds(p50),
        milliseconds(p95),
        milliseconds(p99)
    );
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    if milliseconds < 10.0 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}
