//! What the kernel knows of this process, as metrics.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::process::{Resource, getrlimit};

/// Reads `/proc/self` at every scrape. What cannot be read is left out.
#[derive(Debug)]
pub struct ProcessMetrics {
    started: Option<f64>,
}

impl ProcessMetrics {
    /// Metrics of the process that this runs in.
    pub fn new() -> Self {
        Self { started: started() }
    }
}

impl Default for ProcessMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        if let Some(started) = self.started {
            gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", started)?;
        }
        let stat = fs::read_to_string("/proc/self/stat").ok().and_then(|text| Stat::parse(&text));
        if let Some(stat) = &stat {
            gauge("process_resident_memory_bytes", "Memory that is in RAM.", stat.resident)?;
            gauge("process_threads", "Threads of the process.", stat.threads)?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // Reading the directory takes one itself.
            let open = u32::try_from(open.count().saturating_sub(1)).unwrap_or(u32::MAX);
            gauge("process_open_fds", "Open file descriptors.", f64::from(open))?;
        }
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            gauge("process_max_fds", "Most file descriptors that may be open.", as_f64(limit))?;
        }
        if let Some(stat) = &stat {
            let counter = ConstCounter::new(stat.cpu);
            counter.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                "Processor time used, in seconds.",
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

/// The numbers of `/proc/self/stat` that are wanted, in units that metrics use.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu: f64,
    threads: f64,
    started: f64,
    resident: f64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The second field is the program's name, which may contain anything but ends with the last `)`.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok().map(as_f64);
        let ticks = as_f64(rustix::param::clock_ticks_per_second());
        let page = as_f64(u64::try_from(rustix::param::page_size()).ok()?);
        Some(Self {
            cpu: (number(11)? + number(12)?) / ticks,
            threads: number(17)?,
            started: number(19)? / ticks,
            resident: number(21)? * page,
        })
    }
}

fn started() -> Option<f64> {
    let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?)?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(as_f64(boot) + stat.started)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; beyond 2^53 nobody counts exactly"
)]
fn as_f64(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_spaces_and_brackets_is_skipped() {
        let line = "12 (a) b (c)) S 1 12 12 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 7 0 4200 1000 3 18446744073709551615";
        let stat = Stat::parse(line).unwrap();
        let ticks = as_f64(rustix::param::clock_ticks_per_second());
        assert!((stat.cpu - 200.0 / ticks).abs() < 1e-9);
        assert!((stat.threads - 7.0).abs() < 1e-9);
        assert!((stat.started - 4200.0 / ticks).abs() < 1e-9);
        assert!(stat.resident >= 3.0 * 4096.0);
    }
}
