//! What the planner, the reader and the decider promise, by example.

mod canary;
mod control;
mod guards;
mod planning;
mod reading;
mod switching;
mod told;

use jiff::SignedDuration;

use super::simulation::World;
use super::{Canary, Settings, Stage, State, Strategy, Target};
use crate::access::Environment;
use crate::cluster::Labels;
use crate::name::Name;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn target(text: &str) -> Target {
    let environment = match text.split('-').next() {
        Some("dev") => Environment::Development,
        Some("stage") => Environment::Staging,
        _ => Environment::Production,
    };
    let region = text.rsplit('-').next().unwrap().to_owned();
    let labels = Labels::new(&[("region".to_owned(), region)].into_iter().collect()).unwrap();
    Target { cluster: name(text), environment, labels }
}

fn targets(texts: &[&str]) -> Vec<Target> {
    texts.iter().map(|text| target(text)).collect()
}

fn many(count: usize) -> Vec<Target> {
    (0..count).map(|index| target(&format!("prod-{index:02}"))).collect()
}

fn canary() -> Settings {
    Settings::with(Strategy::Canary(Canary::default()))
}

fn world(settings: Settings, targets: Vec<Target>) -> World {
    World::new(1, settings, targets)
}

fn mins(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

const DAY: SignedDuration = SignedDuration::from_hours(26);

fn stage(state: &State, text: &str) -> Stage {
    state.clusters[&name(text)].stage
}
