//! What was seen, beside what was asked for.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::seen::Seen;
use super::crowd::Crowded;

/// The figures of one run.
#[derive(Debug, Default)]
pub(super) struct Table {
    times: String,
    spreads: String,
    crowds: String,
}

impl Table {
    /// How long something took, once.
    pub(super) fn time(&mut self, what: &str, took: Duration, asked: &str) {
        println!("         {what}: {}", shown(took));
        let _ = writeln!(self.times, "| {what} | {} | {asked} |", shown(took));
    }

    /// How long something took, many times.
    pub(super) fn spread(&mut self, what: &str, seen: &Seen, asked: &str) {
        let at = |percent| seen.percentile(percent).map_or_else(|| "–".to_owned(), shown);
        let (p50, p95, p99) = (at(50), at(95), at(99));
        println!("         {what}: {} times, {p50}, {p95}, {p99}", seen.len());
        let _ = writeln!(self.spreads, "| {what} | {} | {p50} | {p95} | {p99} | {asked} |", seen.len());
    }

    /// Many rollouts on one server.
    pub(super) fn crowd(&mut self, seen: &Crowded) {
        self.add(seen, "2 cores, under 500 MB");
    }

    /// Some rollouts on several servers.
    pub(super) fn servers(&mut self, seen: &Crowded) {
        self.add(seen, if seen.crowd.servers > 1 { "30 at once on 3 servers" } else { "–" });
    }

    fn add(&mut self, seen: &Crowded, asked: &str) {
        let crowd = seen.crowd;
        let what = format!(
            "{} rollouts over {} clusters, {} server{}",
            crowd.rollouts,
            crowd.rollouts * crowd.targets,
            crowd.servers,
            if crowd.servers == 1 { "" } else { "s" }
        );
        let processors = |time: Duration| time.as_secs_f64() / seen.wall.as_secs_f64();
        let used: Duration = seen.servers.iter().map(|server| server.processor).sum();
        let most = seen.servers.iter().map(|server| server.memory.peak).max().unwrap_or(0);
        let line = format!(
            "{} | {} | {:.2} | {:.2} | {} MB | {:.1} ms",
            shown(seen.wall),
            seen.steps,
            processors(used),
            processors(seen.database),
            most / 1_000_000,
            used.as_secs_f64() * 1e3 / f64::from(u32::try_from(seen.steps.max(1)).unwrap_or(u32::MAX)),
        );
        println!("         {what}: {line}");
        let _ = writeln!(self.crowds, "| {what} | {line} | {asked} |");
    }

    pub(super) fn text(&self) -> String {
        let tables = [
            ("| What | Took | Asked for |\n|---|---|---|\n", &self.times),
            ("| What | Times | p50 | p95 | p99 | Asked for |\n|---|---|---|---|---|---|\n", &self.spreads),
            (
                "| What | Took | Steps | Processors, servers | Processors, PostgreSQL | Memory of a server, most | \
                 Processor time of servers per step | Asked for |\n|---|---|---|---|---|---|---|---|\n",
                &self.crowds,
            ),
        ];
        let there = tables.iter().filter(|(_, rows)| !rows.is_empty());
        let texts: Vec<String> = there.map(|(head, rows)| format!("{head}{rows}")).collect();
        texts.join("\n")
    }
}

/// In a unit that fits.
fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        seconds if seconds < 0.01 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_a_unit_that_fits() {
        let times = [0.0004, 0.25, 12.0, 600.0].map(|seconds| shown(Duration::from_secs_f64(seconds)));
        assert_eq!(times, ["0.4 ms", "250 ms", "12.0 s", "10.0 min"]);
    }

    #[test]
    fn only_what_was_measured_is_in_the_table() {
        let mut table = Table::default();
        table.time("one cluster", Duration::from_secs(12), "under 3 min");
        let text = table.text();
        assert!(text.contains("| one cluster | 12.0 s | under 3 min |"), "{text}");
        assert!(!text.contains("p99") && !text.contains("PostgreSQL"), "{text}");
    }
}
