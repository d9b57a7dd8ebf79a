//! Prints the generated pair of a seed and what is said of it: `cargo run --example pair SEED`.

use std::env;
use std::error::Error;

use slipway_crd_compat::compare_sets;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::generate::SchemaPair;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::{TextOptions, text};

fn main() -> Result<(), Box<dyn Error>> {
    for seed in env::args().skip(1) {
        let pair = SchemaPair::from_seed(seed.parse()?);
        println!("seed {seed}: {}\nold {}\nnew {}", pair.changes.join(", "), pair.old, pair.new);
        let (old, new) = (Crd::from_value(pair.old_crd())?, Crd::from_value(pair.new_crd())?);
        let report = compare_sets(&[old], &[new], &Options::default());
        println!("{}", text(&report, TextOptions { color: false, all: true }));
    }
    Ok(())
}
