//! Rollouts: how long they take on real control planes through the released server, what beginning one costs, and
//! what the engine itself needs, alone and with many rollouts at once.
//!
//! What is about the engine runs on clusters that are simulated ([`simulated`]): the real engine, the real use cases
//! and a real PostgreSQL, in processes of their own.

mod crowd;
mod harbour;
mod own;
mod real;
mod simulated;
mod site;
mod starting;
mod table;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use slipway_testkit::postgres::Postgres;

use self::crowd::Crowd;
use self::harbour::Harbour;
use self::simulated::Pace;
pub(crate) use self::simulated::SimulatedServer;
use self::table::Table;
use super::record;

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// One cluster, ten, a canary over twelve, a rollback: real control planes.
    Real,
    /// POST /deployments.
    Starting,
    /// The engine's own time per step.
    Own,
    /// Many rollouts at once on one server.
    Crowd,
    /// The same on one server, and on three.
    Servers,
}

/// How rollouts are measured.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub(crate) struct Options {
    /// rollouts: measure only this, and write nothing down.
    #[arg(long)]
    part: Option<Part>,
    /// rollouts: how long each stage of the canary is watched, in seconds; 300 are usual.
    #[arg(long, default_value_t = 10)]
    soak: u64,
    /// rollouts: measure this server rather than build the one that is released, and write nothing down.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The sizes of a run.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Real control planes; the canary goes to all.
    planes: usize,
    /// Of these, in parallel.
    several: usize,
    /// How often one cluster is changed alone.
    rounds: usize,
    /// Targets of a deployment that is only begun.
    targets: usize,
    starts: usize,
    /// Clusters of the rollout that shows the engine's own time.
    alone: usize,
    /// Rollouts at once, and targets of each.
    crowd: (usize, usize),
    /// The same for one server, and for three.
    shared: (usize, usize),
}

const WHOLE: Sizes = Sizes {
    planes: 12,
    several: 10,
    rounds: 3,
    targets: 100,
    starts: 100,
    alone: 40,
    crowd: (100, 10),
    shared: (30, 10),
};

const SMALL: Sizes = Sizes {
    planes: 3,
    several: 2,
    rounds: 1,
    targets: 6,
    starts: 5,
    alone: 5,
    crowd: (5, 4),
    shared: (3, 4),
};

/// How long simulated clusters take: usual calls, and helm.
const PACE: Pace = Pace { calls: Duration::from_millis(100), helm: Duration::from_secs(1) };

pub(crate) async fn measure(options: &Options, small: bool) -> anyhow::Result<()> {
    let sizes = if small { SMALL } else { WHOLE };
    let began = Instant::now();
    let wanted = |part| options.part.is_none_or(|only| only == part);
    let mut table = Table::default();
    if wanted(Part::Real) || wanted(Part::Starting) {
        let program = match &options.program {
            Some(program) => program.clone(),
            None => super::build("slipway")?,
        };
        told(began, &format!("starting {} control planes …", sizes.planes + 1));
        let harbour = Harbour::start(&program, sizes.planes).await?;
        if wanted(Part::Real) {
            real::measure(&harbour, sizes, Duration::from_secs(options.soak), began, &mut table).await?;
        }
        if wanted(Part::Starting) {
            starting::measure(&harbour, sizes, began, &mut table).await?;
        }
    }
    if [Part::Own, Part::Crowd, Part::Servers].into_iter().any(wanted) {
        let postgres = Postgres::builder().durable().start().await?;
        if wanted(Part::Own) {
            told(began, &format!("one rollout over {} simulated clusters, one by one …", sizes.alone));
            own::measure(&postgres, sizes.alone, &mut table).await?;
        }
        if wanted(Part::Crowd) {
            let (rollouts, targets) = sizes.crowd;
            let clusters = rollouts * targets;
            told(began, &format!("{rollouts} rollouts at once over {clusters} simulated clusters …"));
            let crowd = Crowd { rollouts, targets, servers: 1, pace: PACE };
            table.crowd(&crowd.run(&postgres).await?);
        }
        if wanted(Part::Servers) {
            let (rollouts, targets) = sizes.shared;
            for servers in [1, 3] {
                told(began, &format!("{rollouts} rollouts at once, {servers} server(s) …"));
                let crowd = Crowd { rollouts, targets, servers, pace: PACE };
                table.servers(&crowd.run(&postgres).await?);
            }
        }
    }
    let text = table.text();
    println!("\n{text}");
    told(began, "done");
    if small || options.part.is_some() || options.program.is_some() {
        return Ok(());
    }
    let explanation = explanation(sizes, options.soak);
    record::write_made_by("rollouts", &command(options), "Rollouts", &explanation, &text)
}

/// Says what is going on, and since when.
fn told(began: Instant, what: &str) {
    println!("[{:>4} s] {what}", began.elapsed().as_secs());
}

fn command(options: &Options) -> String {
    let mut command = "rollouts".to_owned();
    if options.soak != 10 {
        let _ = write!(command, " --soak {}", options.soak);
    }
    command
}

fn explanation(sizes: Sizes, soak: u64) -> String {
    let Sizes { planes, targets, starts, alone, crowd: (rollouts, each), .. } = sizes;
    format!(
        "Real control planes: {planes} with kwok nodes, the released program on a PostgreSQL server that waits for its \
         disk, real helm; a chart with a CRD, a Deployment of two pods and what belongs to it, upgraded from version to \
         version. Times are those of somebody who waits: from the request to the end of the deployment. The canary \
         watches each stage for {soak} s; the line below it reckons what it would take with the usual 5 minutes. The \
         rollback takes the canary back, on all clusters. POST /deployments: {starts} times with {targets} targets, on \
         which the operator is installed, one of them dead; more names for the same control planes, and each deployment \
         is cancelled before the next. The engine: {alone} simulated clusters one by one, which answer at once, so what \
         is left is the engine and its database. {rollouts} rollouts at once: {each} clusters each, direct, ten at once; \
         a helm of {} ms, {} ms for every other step; the server is a process with the manager's use cases and engine, \
         its usual sixteen steps at once and nothing else. Processor time and memory are from /proc, PostgreSQL's of \
         the connections to this database. All of it shares this machine.",
        PACE.helm.as_millis(),
        PACE.calls.as_millis(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_is_written_down_is_the_one_that_was_given() {
        let options = |soak| Options { part: None, soak, program: None };
        assert_eq!(command(&options(10)), "rollouts");
        assert_eq!(command(&options(300)), "rollouts --soak 300");
    }
}
