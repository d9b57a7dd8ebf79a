//! The processes that descend from this one.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Every process below this one, nearest first.
///
/// Read from `/proc`, since a process may have left its parent's group and session. As this
/// process is a subreaper, one whose own parent died counts as a child of this one.
pub(crate) fn descendants() -> Vec<Pid> {
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
    let mut found = vec![getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while next < found.len() {
        found.extend(children.remove(&found[next]).unwrap_or_default());
        next += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// Kills every descendant, and says whether none was left in the end.
///
/// In rounds, since a process may fork while it is being looked at.
pub(crate) fn kill_descendants(patience: Duration) -> bool {
    let end = Instant::now() + patience;
    loop {
        let left = descendants();
        if left.is_empty() {
            return true;
        }
        for pid in left {
            // Gone in the meantime is what we want.
            let _ = kill_process(pid, Signal::KILL);
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
