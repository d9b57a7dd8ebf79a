//! How long clusters take to be ready, and how much memory they need.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use slipway_testkit::{Fleet, RealCluster};

use super::record;

pub(super) async fn measure() -> anyhow::Result<()> {
    let mut table = String::from("| What | Ready in | Memory in use | Asked for |\n|---|---|---|---|\n");
    for (count, asked) in [(3, "under 15 s"), (12, "under 6 GB")] {
        println!("starting {count} control planes …");
        let before = used_mebibytes();
        let started = Instant::now();
        let fleet = Fleet::start(count, 0).await?;
        let ready = started.elapsed().as_secs_f64();
        let memory = used_mebibytes().saturating_sub(before);
        println!("  {ready:.1} s, {memory} MiB");
        let _ =
            writeln!(table, "| {count} control planes on one etcd | {ready:.1} s | {memory} MiB | {asked} |");
        tokio::task::spawn_blocking(move || drop(fleet)).await?;
    }
    if RealCluster::allowed().is_ok() {
        println!("starting a cluster with a real node …");
        let before = used_mebibytes();
        let started = Instant::now();
        let cluster = RealCluster::start("bench").await?;
        let ready = started.elapsed().as_secs_f64();
        let memory = used_mebibytes().saturating_sub(before);
        println!("  {ready:.1} s, {memory} MiB");
        let _ = writeln!(table, "| one cluster with a real node and DNS | {ready:.1} s | {memory} MiB | – |");
        cluster.stop().await;
    }
    record::write(
        "fleet",
        "Clusters for tests",
        "Time from nothing to ready (the first row includes etcd's start), and what the machine's \
         available memory shrank by, pages that the programs share counted once.",
        &table,
    )
}

/// The memory that is not available for others.
fn used_mebibytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
    };
    (of("MemTotal").unwrap_or(0).saturating_sub(of("MemAvailable").unwrap_or(0))) / 1024
}
