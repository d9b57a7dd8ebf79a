//! What a process takes of the machine, from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Linux tells processor time in ticks of this length, whatever the kernel's own clock is.
const TICK: Duration = Duration::from_millis(10);

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// What is resident now.
    pub(crate) resident: u64,
    /// The most that was ever resident.
    pub(crate) peak: u64,
}

/// The processor time that a process has used so far, of all its threads.
pub(crate) fn processor_time(pid: u32) -> anyhow::Result<Duration> {
    let file = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {file}: is the process gone?"))?;
    parse_stat(&text).with_context(|| format!("{file} has an unknown form"))
}

/// The memory of a process.
pub(crate) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let file = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {file}: is the process gone?"))?;
    parse_status(&text).with_context(|| format!("{file} has an unknown form"))
}

/// The processes whose command line holds a word that no other has.
pub(crate) fn processes_with(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let says = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    pids.filter(says).collect()
}

/// The 14th and 15th field; the second, the program's name, is in parentheses and may hold anything.
fn parse_stat(text: &str) -> Option<Duration> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * (user + system))
}

fn parse_status(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    };
    Some(Memory { resident: field("VmRSS")?, peak: field("VmHWM")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_user_and_system_time_even_with_an_odd_name() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194560 900 0 3 0 150 25 0 0 20 0 9 0 100 1000 200 18446744073709551615";
        assert_eq!(parse_stat(text), Some(Duration::from_millis(1750)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn memory_is_what_is_resident_and_its_peak() {
        let text = "Name:\ta\nVmPeak:\t  900 kB\nVmHWM:\t   64 kB\nVmRSS:\t   32 kB\n";
        assert_eq!(parse_status(text), Some(Memory { resident: 32 << 10, peak: 64 << 10 }));
        assert_eq!(parse_status("Name:\tkernel thread\n"), None);
    }

    #[test]
    fn this_process_can_be_looked_at() {
        let pid = std::process::id();
        assert!(memory(pid).unwrap().resident > 1 << 20);
        assert!(processor_time(pid).is_ok());
    }
}
