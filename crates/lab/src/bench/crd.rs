//! How long the whole command `slipway crd diff` takes, parsing included, and how much memory it needs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_crd_compat::generate::{SchemaPair, large};
use slipway_testkit::scratch;

use super::record;

const RUNS: usize = 20;
/// Makes a definition of about 775 KB of YAML, as large as the largest people have.
const FIELDS: usize = 2150;
const PAIRS: u64 = 500;

/// What is compared, and what was asked for.
struct Case {
    name: String,
    old: PathBuf,
    new: PathBuf,
    asked: &'static str,
}

pub(super) fn measure() -> anyhow::Result<()> {
    let program = super::build("slipway")?;
    let files = scratch("bench-crd")?;
    let mut table = String::from(
        "| What | Input | Best | Median | Peak memory | Asked for |\n|---|---|---|---|---|---|\n",
    );
    for case in cases(files.path())? {
        println!("{} …", case.name);
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            times.push(run(&mut compare(&program, &case))?);
        }
        times.sort();
        let (best, median) = (milliseconds(times.first()), milliseconds(times.get(RUNS / 2)));
        let memory = memory(&program, &case)?;
        let size = (size(&case.old)? + size(&case.new)?) / 1000;
        println!("  best {best}, median {median}, {memory}");
        let _ =
            writeln!(table, "| {} | {size} kB | {best} | {median} | {memory} | {} |", case.name, case.asked);
    }
    record::write(
        "crd",
        "Comparing CRDs",
        &format!(
            "The whole command, `slipway crd diff OLD NEW`, from its start to its end, {RUNS} times, reading both \
             sides included. Peak memory is the largest resident set of one run."
        ),
        &table,
    )
}

fn cases(files: &Path) -> anyhow::Result<Vec<Case>> {
    let (old, new) = (files.join("large-old.yaml"), files.join("large-new.yaml"));
    fs::write(&old, yaml(&large(FIELDS, false))?)?;
    fs::write(&new, yaml(&large(FIELDS, true))?)?;
    let mut cases =
        vec![Case { name: "one large pair, generated".into(), old, new, asked: "under 40 ms, 60 MB" }];
    let history = Path::new("../shared/corpus/crd-history/prometheus-operator");
    let [old, new] = ["v0.70.0", "v0.93.0"].map(|release| history.join(release).join("prometheuses.yaml"));
    if old.is_file() && new.is_file() {
        let name = "`Prometheus`, v0.70.0 → v0.93.0".into();
        cases.push(Case { name, old, new, asked: "under 40 ms, 60 MB" });
    }
    let (old, new) = (files.join("many-old"), files.join("many-new"));
    for directory in [&old, &new] {
        fs::create_dir(directory)?;
    }
    for seed in 0..PAIRS {
        let pair = SchemaPair::from_seed(seed);
        for (directory, crd) in [(&old, pair.old_crd()), (&new, pair.new_crd())] {
            fs::write(directory.join(format!("{seed}.yaml")), yaml(&in_group(crd, seed))?)?;
        }
    }
    cases.push(Case { name: format!("{PAIRS} pairs in one run"), old, new, asked: "under 2 s" });
    Ok(cases)
}

fn in_group(mut crd: Value, number: u64) -> Value {
    let group = format!("g{number}.example.com");
    crd["metadata"]["name"] = json!(format!("samples.{group}"));
    crd["spec"]["group"] = json!(group);
    crd
}

fn yaml(value: &Value) -> anyhow::Result<String> {
    serde_saphyr::to_string(value).context("writing YAML")
}

fn compare(program: &Path, case: &Case) -> Command {
    let mut command = Command::new(program);
    command.args(["crd", "diff"]).arg(&case.old).arg(&case.new);
    command
}

/// Runs a comparison; breaking is an answer, bad input is not.
fn run(command: &mut Command) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = started.elapsed();
    if !matches!(ended.code(), Some(0 | 1)) {
        bail!("the comparison ended with {ended}");
    }
    Ok(took)
}

/// The largest resident set, as time(1) tells it.
fn memory(program: &Path, case: &Case) -> anyhow::Result<String> {
    let time = Path::new("/usr/bin/time");
    if !time.is_file() {
        return Ok("not measured: there is no /usr/bin/time".to_owned());
    }
    let output = Command::new(time)
        .arg("--format=%M")
        .arg(program)
        .args(["crd", "diff"])
        .args([&case.old, &case.new])
        .stdout(Stdio::null())
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let kibibytes: u64 =
        told.lines().last().unwrap_or_default().trim().parse().context("reading time's answer")?;
    Ok(format!("{} MB", kibibytes * 1024 / 1_000_000))
}

fn size(path: &Path) -> anyhow::Result<u64> {
    if path.is_file() {
        return Ok(fs::metadata(path)?.len());
    }
    let mut sum = 0;
    for entry in fs::read_dir(path)? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}

fn milliseconds(time: Option<&Duration>) -> String {
    format!("{:.0} ms", time.map_or(0.0, |time| time.as_secs_f64() * 1000.0))
}
