//! How long clusters take to be ready, and how much memory they need.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use slipway_testkit::{Fleet, Program, RealCluster};

use super::record;

pub(super) async fn measure() -> anyhow::Result<()> {
    let mut table = String::from("| What | Ready in | Memory in use | Asked for |\n|---|---|---|---|\n");
    for (count, asked) in [(3, "under 15 s"), (12, "under 6 GB")] {
        println!("starting {count} control planes …");
        let started = Instant::now();
        let fleet = Fleet::start(count, 0).await?;
        let ready = started.elapsed().as_secs_f64();
        let memory = used_mebibytes();
        println!("  {ready:.1} s, {memory} MiB");
        let _ =
            writeln!(table, "| {count} control planes on one etcd | {ready:.1} s | {memory} MiB | {asked} |");
        tokio::task::spawn_blocking(move || drop(fleet)).await?;
    }
    if RealCluster::allowed().is_ok() {
        println!("starting a cluster with a real node …");
        let started = Instant::now();
        let cluster = RealCluster::start("bench").await?;
        let ready = started.elapsed().as_secs_f64();
        let memory = used_mebibytes();
        println!("  {ready:.1} s, {memory} MiB");
        let _ = writeln!(table, "| one cluster with a real node and DNS | {ready:.1} s | {memory} MiB | – |");
        cluster.stop().await;
    }
    record::write(
        "fleet",
        "Clusters for tests",
        "Time from nothing to ready (the first row includes etcd's start), and the memory of Kubernetes' \
         and containerd's processes then, pages that several share counted once.",
        &table,
    )
}

/// The memory of the programs that setup built, pages that several share counted once.
fn used_mebibytes() -> u64 {
    let programs =
        Program::KubeApiserver.find().ok().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
    let Some(programs) = programs else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let kibibytes: u64 = processes
        .filter(|process| {
            fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe.starts_with(&programs))
        })
        .filter_map(|process| fs::read_to_string(process.path().join("smaps_rollup")).ok())
        .filter_map(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        })
        .sum();
    kibibytes / 1024
}
