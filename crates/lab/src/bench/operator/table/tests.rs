use std::collections::BTreeMap;
use std::time::Duration;

use super::super::super::usage::Memory;
use super::super::audit::Tally;
use super::super::contestant::Contestant;
use super::super::figures::{Deletion, Figures, Idle, Large, Work};
use super::super::latency::Percentiles;
use super::render;

fn figures(contestant: Contestant, scale: u32, large: bool) -> Figures {
    let tally = Tally {
        writes: BTreeMap::from([("deployments create".to_owned(), u64::from(scale) * 100)]),
        conflicts: u64::from(scale) - 1,
        ..Tally::default()
    };
    let time = Duration::from_millis(250) * scale;
    let spread = Percentiles { p50: 0.002, p99: 0.020 };
    let work = Work {
        objects: 100,
        sent: time,
        converged: time,
        processor: time,
        tally: tally.clone(),
        reconciles: 300.0,
        reconcile: Some(spread),
    };
    let memory = Memory { resident: u64::from(scale) << 24, peak: u64::from(scale) << 25 };
    let idle = Idle { millicores: 1.25, memory, tally: Tally::default(), reconciles: 0.0 };
    Figures {
        contestant,
        objects: 100,
        kubernetes: "v1.36.3".into(),
        ready: time,
        first_reconcile: time,
        restarted: time,
        empty: idle.clone(),
        created: work.clone(),
        updated: work.clone(),
        idle: idle.clone(),
        resynced: idle.clone(),
        validate: spread,
        mutate: spread,
        dry_run: spread,
        deleted: Deletion { applications: time, gone: time, left: Vec::new(), tally, processor: time },
        large: large.then_some(Large { work, idle }),
    }
}

fn line<'a>(table: &'a str, what: &str) -> &'a str {
    table.lines().find(|line| line.starts_with(&format!("| {what} |"))).unwrap_or("no such line")
}

#[test]
fn both_operators_stand_side_by_side_with_their_ratio() {
    let table =
        render(&[figures(Contestant::Slipway, 1, false), figures(Contestant::ControllerRuntime, 4, false)]);
    assert!(table.starts_with("| What | slipway-runtime | controller-runtime | Ratio | Asked for |\n"));
    assert_eq!(line(&table, "start to ready"), "| start to ready | 250 ms | 1000 ms | 0.25 | under 1 s |");
    assert_eq!(
        line(&table, "resident, 100 objects"),
        "| resident, 100 objects | 16.0 MiB | 64.0 MiB | 0.25 | half |"
    );
    assert_eq!(line(&table, "writes per object"), "| writes per object | 1.00 | 4.00 | 0.25 | at most 6 |");
    assert_eq!(line(&table, "conflicts"), "| conflicts | 0 | 3 | 0.00 | 0 |");
}

#[test]
fn every_line_has_as_many_cells_as_the_heading() {
    for count in [1, 2] {
        let all = [figures(Contestant::Slipway, 1, true), figures(Contestant::ControllerRuntime, 4, true)];
        let table = render(&all[..count]);
        for part in table.split("\n\n").filter(|part| part.starts_with('|')) {
            let cells: Vec<_> = part.lines().map(|line| line.matches('|').count()).collect();
            assert!(cells.iter().all(|count| *count == cells[0]), "{part}");
        }
    }
}

#[test]
fn of_nothing_there_is_no_ratio() {
    let table =
        render(&[figures(Contestant::Slipway, 2, false), figures(Contestant::ControllerRuntime, 1, false)]);
    assert_eq!(line(&table, "conflicts"), "| conflicts | 1 | 0 | – | 0 |");
}

#[test]
fn what_was_not_measured_has_no_line() {
    let without = render(&[figures(Contestant::Slipway, 1, false)]);
    assert!(!without.contains("without pods"));
    assert!(render(&[figures(Contestant::Slipway, 1, true)]).contains("without pods"));
}
