//! Random pairs of schemas and random objects: what the report says, and what the API server does.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;
use serde_json::{Value, json};
use slipway_crd_compat::admit::Validator;
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::{Severity, Witness};
use slipway_crd_compat::generate::SchemaPair;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::Report;
use tokio::task::JoinSet;

use crate::server::{Answer, Server, collection, in_group};
use crate::trial::{Disagreement, Fate, Trial, confirms};

/// Definitions that change from pair to pair; each costs the API server memory, so they are few.
const SLOTS: u64 = 8;
const OBJECTS: usize = 8;

/// What was seen.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    invalid: Vec<String>,
    objects: usize,
    breaking: usize,
    risky: usize,
    safe: usize,
    confirmed: usize,
    unproven: usize,
    unknown: usize,
    unsound: Vec<String>,
    spurious: Vec<String>,
    disagreements: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.pairs += other.pairs;
        self.objects += other.objects;
        self.breaking += other.breaking;
        self.risky += other.risky;
        self.safe += other.safe;
        self.confirmed += other.confirmed;
        self.unproven += other.unproven;
        self.unknown += other.unknown;
        self.invalid.extend(other.invalid);
        self.unsound.extend(other.unsound);
        self.spurious.extend(other.spurious);
        self.disagreements.extend(other.disagreements);
    }

    fn judged(&mut self, report: &Report) {
        match report.severity() {
            Severity::Breaking => self.breaking += 1,
            Severity::Risky => self.risky += 1,
            Severity::Safe => self.safe += 1,
        }
        let breaking = report.findings.iter().filter(|finding| finding.severity == Severity::Breaking);
        self.unproven += breaking.filter(|finding| finding.witness.is_none()).count();
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pairs {} (not taken as definitions {}) | breaking {} risky {} safe {} | objects {} | unsound {} | \
             witnesses confirmed {} spurious {} breaking without witness {} | validator disagrees {} unknown {}",
            self.pairs,
            self.invalid.len(),
            self.breaking,
            self.risky,
            self.safe,
            self.objects,
            self.unsound.len(),
            self.confirmed,
            self.spurious.len(),
            self.unproven,
            self.disagreements.len(),
            self.unknown,
        )
    }
}

/// The object in the group of the definition.
fn moved(mut object: Value, group: &str) -> Value {
    object["apiVersion"] = json!(format!("{group}/v1"));
    object
}

/// An object on its way.
struct Flight<'w> {
    trial: Trial,
    /// Set for what the report gave as a proof, not for what was made at random.
    witness: Option<&'w Witness>,
    was: Answer,
    is: Answer,
}

/// Writes every trial under the old definition, then under the new one; or says which of the definitions the
/// server does not take.
async fn fly<'w>(
    server: &Server,
    seed: u64,
    definitions: [&Value; 2],
    trials: Vec<(Trial, Option<&'w Witness>)>,
) -> Result<Vec<Flight<'w>>, String> {
    let [old, new] = definitions;
    server.define(old, &format!("old-{seed}")).await.map_err(|error| format!("old: {error}"))?;
    let mut waiting = Vec::new();
    for (index, (trial, witness)) in trials.into_iter().enumerate() {
        // What the old definition does not take as an object has no status to be written.
        if let Some(prepared) = trial.prepare(server, old, &format!("stored-{index}")).await {
            let was = trial.write(server, old, &prepared, false).await;
            waiting.push((trial, witness, prepared, was));
        }
    }
    let taken = server.define(new, &format!("new-{seed}")).await.map_err(|error| format!("new: {error}"));
    let mut flights = Vec::new();
    for (trial, witness, prepared, was) in waiting {
        if taken.is_ok() {
            let is = trial.write(server, new, &prepared, true).await;
            flights.push(Flight { trial, witness, was, is });
        }
    }
    server.ask(Method::DELETE, &collection(old, "v1", "default"), None).await;
    taken.map(|()| flights)
}

async fn try_pair(server: &Server, seed: u64, group: &str) -> Tally {
    let mut tally = Tally { pairs: 1, ..Tally::default() };
    let pair = SchemaPair::from_seed(seed);
    let (old, new) = (in_group(&pair.old_crd(), group), in_group(&pair.new_crd(), group));
    let (before, after) = (Crd::from_value(old.clone()).unwrap(), Crd::from_value(new.clone()).unwrap());
    let report = compare(&before, &after, &Options::default());
    let random = pair.objects(OBJECTS).into_iter().flat_map(|object| Trial::of_object(&moved(object, group)));
    let mut trials: Vec<_> = random.map(|trial| (trial, None)).collect();
    let witnesses = report.findings.iter().filter_map(|finding| finding.witness.as_ref());
    trials.extend(witnesses.map(|witness| (Trial::of_witness(witness), Some(witness))));
    let flights = match fly(server, seed, [&old, &new], trials).await {
        Ok(flights) => flights,
        Err(reason) => {
            tally.invalid.push(format!("seed {seed}: {reason}"));
            return tally;
        }
    };
    tally.judged(&report);
    let [judge_before, judge_after] = [&before, &after].map(|crd| Validator::new(crd, "v1").unwrap());
    let told = |what: &str| {
        let found: Vec<_> = report.findings.iter().map(|f| (f.severity, f.id, &f.path)).collect();
        format!("seed {seed}: {what}\n  old {}\n  new {}\n  {found:?}", pair.old, pair.new)
    };
    for flight in &flights {
        let Flight { trial, witness, was, is } = flight;
        tally.objects += 1;
        for (validator, answer, when) in [(&judge_before, was, "old"), (&judge_after, is, "new")] {
            match trial.disagreement(validator, answer) {
                None => {}
                Some(Disagreement::Unknown) => tally.unknown += 1,
                Some(Disagreement::Real(what)) => tally.disagreements.push(told(&format!("{when}: {what}"))),
            }
        }
        if let Some(witness) = witness {
            match confirms(witness, trial, was, is) {
                Ok(()) => tally.confirmed += 1,
                Err(what) => tally.spurious.push(told(&what)),
            }
        }
        let fate = trial.fate(is);
        // A null that is dropped or filled in is risky; everything else that is lost or refused breaks.
        let least = match fate {
            Fate::Whole => Severity::Safe,
            Fate::NullLost => Severity::Risky,
            Fate::Pruned | Fate::Refused => Severity::Breaking,
            Fate::Failed => panic!("seed {seed}: the server answers {} {}", is.code, is.message()),
        };
        if trial.fate(was) == Fate::Whole && report.severity() < least {
            tally.unsound.push(told(&format!("{} is {fate:?}: {}", trial.object, is.message())));
        }
    }
    tally
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// What one round of a soak tries.
const SOAK: u64 = 20_000;

/// The seeds to try: the same few hundred each time, or, in a soak, thousands that change with the round.
fn seeds() -> std::ops::Range<u64> {
    if number("SLIPWAY_SOAK") == Some(1) {
        let start = number("SLIPWAY_SOAK_ROUND").unwrap_or(1) * SOAK;
        return start..start + SOAK;
    }
    0..number("SLIPWAY_ORACLE_PAIRS").unwrap_or(300)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_refuses_nothing_that_was_called_safe() {
    let server = Arc::new(Server::start().await);
    let seeds = seeds();
    let next = Arc::new(AtomicU64::new(seeds.start));
    let mut slots = JoinSet::new();
    for slot in 0..SLOTS {
        let (server, next, end) = (server.clone(), next.clone(), seeds.end);
        slots.spawn(async move {
            let mut tally = Tally::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return tally;
                }
                tally.add(try_pair(&server, seed, &format!("slot{slot}.example.test")).await);
            }
        });
    }
    let mut tally = Tally::default();
    while let Some(done) = slots.join_next().await {
        tally.add(done.unwrap());
    }
    println!("{tally}");
    let pairs = tally.pairs;
    assert!(
        tally.invalid.len() * 5 <= pairs,
        "the generator misses too often:\n{}",
        tally.invalid.join("\n")
    );
    for (what, cases) in [
        ("unsound", &tally.unsound),
        ("spurious", &tally.spurious),
        ("judged otherwise by the validator", &tally.disagreements),
    ] {
        assert!(cases.is_empty(), "{} {what}, of {pairs} pairs:\n{}", cases.len(), cases.join("\n"));
    }
}
