//! The processes that descend from this one.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The processes below this one, nearest first.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    /// Those that are this guardian's to end.
    pub(crate) own: Vec<Pid>,
    /// Other guardians, which have lost their owners by now and end their own programs.
    pub(crate) guardians: Vec<Pid>,
}

impl Descendants {
    /// Looks in `/proc`, since a process may have left its parent's group and session. As this
    /// process is a subreaper, one whose own parent died counts as a child of this one.
    pub(crate) fn find() -> Self {
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            // The second field is the program's name in brackets, and may itself hold brackets and blanks.
            let Some((_, rest)) = stat.rsplit_once(')') else { continue };
            let mut fields = rest.split_whitespace();
            let (state, parent) = (fields.next(), fields.next().and_then(|field| field.parse().ok()));
            if let (Some(state), Some(parent)) = (state, parent)
                && state != "Z"
                && state != "X"
            {
                children.entry(parent).or_default().push(pid);
            }
        }
        let this_program = program_of("self");
        let mut found = Self::default();
        let mut next = vec![getpid().as_raw_nonzero().get()];
        while let Some(parent) = next.pop() {
            for child in children.remove(&parent).unwrap_or_default() {
                let Some(pid) = Pid::from_raw(child) else { continue };
                if this_program.is_some() && program_of(&child.to_string()) == this_program {
                    found.guardians.push(pid);
                } else {
                    found.own.push(pid);
                    next.push(child);
                }
            }
        }
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.guardians.is_empty()
    }
}

/// The file that a process runs, as the file system knows it.
fn program_of(pid: &str) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{pid}/exe")).ok().map(|file| (file.dev(), file.ino()))
}

/// Kills every descendant, and says whether none was left in the end.
///
/// In rounds, since a process may fork while it is being looked at. Other guardians get half of
/// the time to end what they guard and to remove what they must remove.
pub(crate) fn kill_descendants(patience: Duration) -> bool {
    let started = Instant::now();
    loop {
        let left = Descendants::find();
        if left.is_empty() {
            return true;
        }
        let guardians = if started.elapsed() > patience / 2 { left.guardians.as_slice() } else { &[] };
        for pid in left.own.iter().chain(guardians) {
            // Gone in the meantime is what we want.
            let _ = kill_process(*pid, Signal::KILL);
        }
        if started.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
