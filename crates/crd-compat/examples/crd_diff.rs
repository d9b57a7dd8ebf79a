//! Prints what replacing one CRD by another does: `cargo run --example crd_diff old.yaml new.yaml [--all]`.

use std::env;
use std::error::Error;
use std::fs;
use std::time::Instant;

use slipway_crd_compat::compare_sets;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::{TextOptions, json, text};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [old, new, rest @ ..] = arguments.as_slice() else {
        return Err("usage: crd_diff OLD NEW [--all|--json]".into());
    };
    let load = |path: &String| -> Result<Crd, Box<dyn Error>> {
        Ok(Crd::from_value(serde_saphyr::from_str(&fs::read_to_string(path)?)?)?)
    };
    let start = Instant::now();
    let (old, new) = (load(old)?, load(new)?);
    let parsed = start.elapsed();
    let report = compare_sets(&[old], &[new], &Options::default());
    let compared = start.elapsed().saturating_sub(parsed);
    if rest.iter().any(|flag| flag == "--json") {
        println!("{}", json(&report));
    } else {
        let all = rest.iter().any(|flag| flag == "--all");
        print!("{}", text(&report, TextOptions { color: false, all }));
    }
    eprintln!("parsed in {parsed:?}, compared in {compared:?}");
    Ok(())
}
