//! Our Application operator beside the same one in Go on controller-runtime, in the same run: each on a fresh
//! cluster, one after the other.
//!
//! What is counted and timed is seen from outside, at the API server, in `/proc` and by a watch of our own.

mod audit;
mod cluster;
mod contestant;
mod figures;
mod latency;
mod load;
mod probe;
mod process;
mod run;
mod sight;
mod table;

use std::fmt::Write as _;

pub(crate) use contestant::Contestant;

use super::record;

/// How operators are measured.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// operator: measure only this one, and write nothing down.
    #[arg(long)]
    only: Option<Contestant>,
    /// operator: how many Applications.
    #[arg(long, default_value_t = 1000)]
    objects: usize,
    /// operator: many more Applications at the end, without pods.
    #[arg(long, num_args = 0..=1, default_missing_value = "10000")]
    large: Option<usize>,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let contestants = options.only.map_or_else(|| Contestant::ALL.to_vec(), |only| vec![only]);
    let mut all = Vec::new();
    for contestant in contestants {
        all.push(run::measure(contestant, options.objects, options.large).await?);
    }
    let mut table = table::render(&all);
    println!("\n{table}");
    if options.only.is_some() {
        return Ok(());
    }
    let kubernetes = all.first().map_or("", |figures| figures.kubernetes.as_str());
    let _ = writeln!(
        table,
        "\nSeen on {} with Kubernetes {kubernetes}, slipway-runtime {}, controller-runtime 0.25.2.",
        jiff::Timestamp::now().strftime("%Y-%m-%d"),
        env!("CARGO_PKG_VERSION"),
    );
    record::write_made_by(
        "operator",
        &command(options),
        "The Application operator, beside the same one on controller-runtime",
        &explanation(options.objects),
        &table,
    )
}

fn command(options: &Options) -> String {
    let mut command = "operator".to_owned();
    if options.objects != 1000 {
        let _ = write!(command, " --objects {}", options.objects);
    }
    match options.large {
        Some(10_000) => command += " --large",
        Some(count) => {
            let _ = write!(command, " --large {count}");
        }
        None => {}
    }
    command
}

fn explanation(objects: usize) -> String {
    format!(
        "{objects} Applications of two replicas, with configuration and resources, created at once, then given another \
         image, left alone, and deleted; on a fresh control plane each, with ten kwok nodes and an etcd of its own. Both \
         operators run as a process beside it, work on eight objects at once, do not slow themselves down, hold a Lease, \
         and serve both webhooks with the same certificate. Requests are counted in the API server's audit log for the operator's own account; Leases \
         and Events are not among the writes, refused writes are. An Application counts as Ready when its own status and \
         its Deployment's say so to a watch of the measurement. Processor time and memory are from /proc, processor time \
         up to the operator's last write. Reconcile percentiles are estimated from each operator's own histogram, webhook \
         percentiles are round trips timed by the measurement. The ratio is the first column divided by the second. How \
         long it takes to be Ready is mostly the control plane's doing: it shares the machine with the operator."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_is_written_down_is_the_one_that_was_given() {
        let options = |objects, large| Options { only: None, objects, large };
        assert_eq!(command(&options(1000, None)), "operator");
        assert_eq!(command(&options(1000, Some(10_000))), "operator --large");
        assert_eq!(command(&options(200, Some(500))), "operator --objects 200 --large 500");
    }
}
