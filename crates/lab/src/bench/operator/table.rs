//! The figures side by side.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::figures::{Figures, Work};

/// How a figure is written.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
    Mebibytes,
    Millicores,
    Count,
    /// How many there were for each Application.
    PerObject,
}

/// One line of the table: what it says, how, where it is, and what was asked for.
struct Row {
    what: String,
    unit: Unit,
    of: fn(&Figures) -> Option<f64>,
    asked: &'static str,
}

/// The table of all figures, for one operator or two.
pub(super) fn render(figures: &[Figures]) -> String {
    let mut text = String::from("| What |");
    for figures in figures {
        let _ = write!(text, " {} |", figures.contestant.name());
    }
    let ratio = figures.len() == 2;
    text += if ratio { " Ratio | Asked for |\n|---|" } else { " Asked for |\n|---|" };
    text += &"---|".repeat(figures.len() + 1 + usize::from(ratio));
    text.push('\n');
    let objects = figures.first().map_or(0, |figures| figures.objects);
    let large = figures.iter().find_map(|figures| Some(figures.large.as_ref()?.work.objects));
    for row in rows(objects, large) {
        let values: Vec<_> = figures.iter().map(row.of).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "| {} |", row.what);
        for value in &values {
            let _ =
                write!(text, " {} |", value.map_or_else(|| "–".to_owned(), |value| row.unit.write(value)));
        }
        if let [first, second] = values[..] {
            let _ = write!(text, " {} |", ratio_of(first, second));
        }
        let _ = writeln!(text, " {} |", row.asked);
    }
    text.push('\n');
    text + &requests(figures)
}

/// How the first compares to the second; of nothing there is no part.
fn ratio_of(first: Option<f64>, second: Option<f64>) -> String {
    match (first, second) {
        (Some(first), Some(second)) if second > 0.0 => format!("{:.2}", first / second),
        _ => "–".to_owned(),
    }
}

impl Unit {
    fn write(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 10.0 => format!("{value:.2} s"),
            Self::Seconds => format!("{value:.1} s"),
            Self::Milliseconds if value < 0.01 => format!("{:.2} ms", value * 1e3),
            Self::Milliseconds => format!("{:.0} ms", value * 1e3),
            Self::Mebibytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
            Self::Millicores => format!("{value:.1} m"),
            Self::Count => format!("{value:.0}"),
            Self::PerObject => format!("{value:.2}"),
        }
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

fn per_object(count: u64, objects: usize) -> f64 {
    number(count) / number(objects as u64)
}

fn writes(work: &Work) -> f64 {
    per_object(work.tally.written(), work.objects)
}

fn rows(objects: usize, large: Option<usize>) -> Vec<Row> {
    use Unit::{Count, Mebibytes, Millicores, Milliseconds, PerObject, Seconds};
    let large = large.unwrap_or_default();
    let row = |what: &str, unit, asked, of| Row { what: what.to_owned(), unit, of, asked };
    vec![
        row("start to ready", Milliseconds, "under 1 s", |f| Some(seconds(f.ready))),
        row("start to first reconcile", Milliseconds, "under 1 s", |f| Some(seconds(f.first_reconcile))),
        row(&format!("start to ready with {objects} objects"), Milliseconds, "–", |f| {
            Some(seconds(f.restarted))
        }),
        row("**created**: requests answered after", Seconds, "–", |f| Some(seconds(f.created.sent))),
        row("all Ready after", Seconds, "–", |f| Some(seconds(f.created.converged))),
        row("processor time", Seconds, "half", |f| Some(seconds(f.created.processor))),
        row("writes per object", PerObject, "at most 6", |f| Some(writes(&f.created))),
        row("conflicts", Count, "0", |f| Some(number(f.created.tally.conflicts))),
        row("other refused writes", Count, "0", |f| Some(number(f.created.tally.refused))),
        row("Events per object", PerObject, "–", |f| Some(per_object(f.created.tally.events, f.objects))),
        row("reconciles per object", PerObject, "–", |f| {
            Some(f.created.reconciles / number(f.objects as u64))
        }),
        row("reconcile p50", Milliseconds, "–", |f| Some(f.created.reconcile?.p50)),
        row("reconcile p99", Milliseconds, "under 1 s", |f| Some(f.created.reconcile?.p99)),
        row("**image changed**: all Ready after", Seconds, "–", |f| Some(seconds(f.updated.converged))),
        row("processor time", Seconds, "half", |f| Some(seconds(f.updated.processor))),
        row("writes per object", PerObject, "–", |f| Some(writes(&f.updated))),
        row("conflicts", Count, "0", |f| Some(number(f.updated.tally.conflicts))),
        row("other refused writes", Count, "0", |f| Some(number(f.updated.tally.refused))),
        row("reconciles per object", PerObject, "–", |f| {
            Some(f.updated.reconciles / number(f.objects as u64))
        }),
        row("reconcile p50", Milliseconds, "–", |f| Some(f.updated.reconcile?.p50)),
        row("reconcile p99", Milliseconds, "under 1 s", |f| Some(f.updated.reconcile?.p99)),
        row("**idle** for 60 s: writes", Count, "0", |f| Some(number(f.idle.tally.written()))),
        row("writes of leader election", Count, "–", |f| Some(number(f.idle.tally.leases))),
        row("processor", Millicores, "under 50 m", |f| Some(f.idle.millicores)),
        row("**restarted, every object looked at each 20 s** for 60 s: writes", Count, "0", |f| {
            Some(number(f.resynced.tally.written()))
        }),
        row("reconciles", Count, "–", |f| Some(f.resynced.reconciles)),
        row("processor", Millicores, "–", |f| Some(f.resynced.millicores)),
        row("**memory** resident, no objects", Mebibytes, "half", |f| Some(number(f.empty.memory.resident))),
        row(&format!("resident, {objects} objects"), Mebibytes, "half", |f| {
            Some(number(f.idle.memory.resident))
        }),
        row("peak until then", Mebibytes, "–", |f| Some(number(f.idle.memory.peak))),
        row(&format!("resident, {objects} objects, after a restart"), Mebibytes, "half", |f| {
            Some(number(f.resynced.memory.resident))
        }),
        row(&format!("resident, {large} objects without pods"), Mebibytes, "half", |f| {
            Some(number(f.large.as_ref()?.idle.memory.resident))
        }),
        row("peak until then", Mebibytes, "–", |f| Some(number(f.large.as_ref()?.idle.memory.peak))),
        row(&format!("{large} objects created: done after"), Seconds, "–", |f| {
            Some(seconds(f.large.as_ref()?.work.converged))
        }),
        row("processor time", Seconds, "–", |f| Some(seconds(f.large.as_ref()?.work.processor))),
        row("writes per object", PerObject, "–", |f| Some(writes(&f.large.as_ref()?.work))),
        row("processor when idle", Millicores, "–", |f| Some(f.large.as_ref()?.idle.millicores)),
        row("**webhooks**: validation p50", Milliseconds, "–", |f| Some(f.validate.p50)),
        row("validation p99", Milliseconds, "–", |f| Some(f.validate.p99)),
        row("defaulting p50", Milliseconds, "–", |f| Some(f.mutate.p50)),
        row("defaulting p99", Milliseconds, "–", |f| Some(f.mutate.p99)),
        row("dry-run create p50", Milliseconds, "–", |f| Some(f.dry_run.p50)),
        row("dry-run create p99", Milliseconds, "–", |f| Some(f.dry_run.p99)),
        row("**deleted**: Applications gone after", Seconds, "–", |f| {
            Some(seconds(f.deleted.applications))
        }),
        row("everything gone after", Seconds, "–", |f| Some(seconds(f.deleted.gone))),
        row("left behind", Count, "0", |f| Some(number(f.deleted.left.len() as u64))),
        row("processor time", Seconds, "–", |f| Some(seconds(f.deleted.processor))),
        row("writes per object", PerObject, "–", |f| {
            Some(per_object(f.deleted.tally.written(), f.objects))
        }),
        row("conflicts", Count, "0", |f| Some(number(f.deleted.tally.conflicts))),
    ]
}

/// Which writes there were, for each Application, by what was written.
fn requests(figures: &[Figures]) -> String {
    let mut text = String::from("Writes per object, by what was written:\n\n| Write |");
    for figures in figures {
        let name = figures.contestant.name();
        let _ = write!(text, " {name}: created | changed | deleted |");
    }
    text += "\n|---|";
    text += &"---|".repeat(3 * figures.len());
    text.push('\n');
    let tallies = |figures: &Figures| {
        [&figures.created.tally, &figures.updated.tally, &figures.deleted.tally]
            .map(|tally| tally.writes.clone())
    };
    let names: BTreeSet<String> =
        figures.iter().flat_map(tallies).flat_map(std::collections::BTreeMap::into_keys).collect();
    for name in names {
        let _ = write!(text, "| {name} |");
        for figures in figures {
            for writes in tallies(figures) {
                match writes.get(&name) {
                    Some(count) => {
                        let share = number(*count) / number(figures.objects as u64);
                        let _ = write!(text, " {share:.2} |");
                    }
                    None => text += " |",
                }
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
