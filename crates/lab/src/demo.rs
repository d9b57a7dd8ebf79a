//! The demonstration: a fleet of three clusters, and the manager on it.

mod manager;
mod rollout;

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use comfy_table::{Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use slipway_testkit::image::Image;
use slipway_testkit::{Program, RealCluster};

use crate::fleet::Member;
use crate::image;
use manager::Manager;

const CLUSTERS: [&str; 3] = ["dev", "staging", "production"];

/// Starts the fleet, shows and checks it, and keeps it until Ctrl-C unless it is to run once.
pub(crate) async fn demo(once: bool) -> anyhow::Result<()> {
    let started = Instant::now();
    let real = match RealCluster::allowed() {
        Ok(()) => true,
        Err(reason) => {
            println!("Real nodes are not possible here ({reason}); pods are simulated by kwok.");
            false
        }
    };
    let probe = if real { Some(image::probe()?) } else { None };
    println!("Starting three Kubernetes clusters on this machine: {}.\n", CLUSTERS.join(", "));
    let fleet = start(real).await?;
    println!("{}", table(&fleet));

    let directory = Kubeconfigs::write(&fleet)?;
    check(&fleet, probe.as_ref()).await?;
    println!("\n{} clusters ready and checked in {:.0} s.", fleet.len(), started.elapsed().as_secs_f64());
    let manager = Manager::start(&fleet, |name| directory.file(name)).await?;
    manager.show(&fleet).await?;
    manager.roll_out().await?;
    println!("\nAll of it in {:.0} s.", started.elapsed().as_secs_f64());

    if once {
        println!("Ending them again.");
    } else {
        let kubectl = Program::Kubectl.find()?;
        println!("\nLook around, in another terminal:");
        for member in &fleet {
            println!(
                "  {} --kubeconfig {} get pods -A",
                kubectl.display(),
                directory.file(&member.name).display()
            );
        }
        println!("  {}", manager.hint()?);
        println!("\nCtrl-C ends the fleet and removes everything.");
        tokio::signal::ctrl_c().await.context("waiting for Ctrl-C")?;
        println!("\nEnding the fleet.");
    }
    manager.stop().await;
    let ending: Vec<_> = fleet.into_iter().map(|member| tokio::spawn(member.stop())).collect();
    for member in ending {
        member.await?;
    }
    slipway_testkit::broker::close();
    Ok(())
}

/// Starts all clusters at once, and shows how far each is.
async fn start(real: bool) -> anyhow::Result<Vec<Member>> {
    let lines = MultiProgress::new();
    let terminal = stderr().is_terminal();
    let starting: Vec<_> = CLUSTERS
        .iter()
        .map(|name| {
            let line = lines.add(ProgressBar::new_spinner());
            line.set_style(
                ProgressStyle::with_template("  {spinner} {msg:12} {elapsed}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            line.set_message(*name);
            line.enable_steady_tick(Duration::from_millis(100));
            let name = (*name).to_owned();
            tokio::spawn(async move {
                let member = Member::start(name.clone(), real)
                    .await
                    .with_context(|| format!("starting the cluster {name}"));
                line.finish_and_clear();
                if !terminal && let Ok(member) = &member {
                    println!("  {name} is ready after {:.1} s", member.ready_in.as_secs_f64());
                }
                member
            })
        })
        .collect();
    let mut fleet = Vec::new();
    for member in starting {
        fleet.push(member.await??);
    }
    Ok(fleet)
}

fn table(fleet: &[Member]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "  CLUSTER",
        "NODES",
        "KUBERNETES",
        "API SERVER",
        "READY IN",
    ]);
    for member in fleet {
        table.add_row([
            format!("  {}", member.name),
            member.nodes_in_words(),
            member.version.clone(),
            member.server.clone(),
            format!("{:.1} s", member.ready_in.as_secs_f64()),
        ]);
    }
    table
}

async fn check(fleet: &[Member], image: Option<&Image>) -> anyhow::Result<()> {
    println!();
    for member in fleet {
        let seen =
            member.check(image).await.with_context(|| format!("checking the cluster {}", member.name))?;
        println!("  ✓ {}: {seen}", member.name);
    }
    Ok(())
}

/// The kubeconfigs of the fleet, removed with it: they would be good for nothing.
struct Kubeconfigs {
    directory: PathBuf,
}

impl Kubeconfigs {
    fn write(fleet: &[Member]) -> anyhow::Result<Self> {
        let directory = Path::new(".slipway/demo").to_owned();
        fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
        let kubeconfigs = Self { directory };
        for member in fleet {
            fs::write(kubeconfigs.file(&member.name), &member.kubeconfig)?;
        }
        println!("\nKubeconfigs are in {}.", kubeconfigs.directory.display());
        Ok(kubeconfigs)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.kubeconfig"))
    }
}

impl Drop for Kubeconfigs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
        // Only if nothing else is in it.
        let _ = self.directory.parent().map(fs::remove_dir);
    }
}
