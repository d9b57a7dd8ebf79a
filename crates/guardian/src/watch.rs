//! Watching over one program until it, its owner or its time ends.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait,
};

use crate::options::Options;
use crate::{remains, tree};

/// How long killing and removing may take before the guardian gives up and says so.
const PATIENCE: Duration = Duration::from_secs(20);

/// The exit code of a program that was ended at its deadline, as `timeout` has it.
const DEADLINE: u8 = 124;

enum Event {
    OwnerGone,
    Exited(WaitStatus),
}

/// Runs the program until it ends, its owner lets go, or its deadline passes; leaves nothing behind.
///
/// Prints `started <pid>` and `ended <code>` on standard output when the program's own output goes
/// to a log, so that the owner can follow.
pub fn guard(options: &Options) -> io::Result<ExitCode> {
    if let Some(guardian) = options.become_for {
        return Err(become_program(options, guardian));
    }
    set_child_subreaper(Some(getpid()))?;
    let (events, happened) = channel();
    watch_owner(events.clone())?;
    let outcome = if options.command.is_empty() {
        // Nothing runs, so only the owner's end can happen.
        let _ = happened.recv();
        Ok(0)
    } else {
        run(options, events, &happened)
    };
    let alone = tree::kill_descendants(PATIENCE);
    let mut left: Vec<String> = Vec::new();
    if !alone {
        left.push(format!("processes {:?}", tree::Descendants::find()));
    }
    for path in &options.remove {
        if let Err(error) = remains::remove_path(path, PATIENCE) {
            left.push(format!("{}: {error}", path.display()));
        }
    }
    for name in &options.remove_cgroups {
        if let Err(error) = remains::remove_cgroup(name, PATIENCE) {
            left.push(format!("control group {name}: {error}"));
        }
    }
    let code = outcome?;
    if options.log.is_some() {
        tell(&format!("ended {code}"));
    }
    if left.is_empty() {
        Ok(ExitCode::from(code))
    } else {
        Err(io::Error::other(format!("left behind: {}", left.join("; "))))
    }
}

fn run(options: &Options, events: Sender<Event>, happened: &Receiver<Event>) -> io::Result<u8> {
    let started = Instant::now();
    let program = spawn(options)?;
    if options.log.is_some() {
        tell(&format!("started {}", program.as_raw_nonzero()));
    }
    thread::Builder::new().name("reaper".into()).spawn(move || reap(program, &events))?;
    let first = match options.deadline {
        None => happened.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(deadline) => happened.recv_timeout(deadline.saturating_sub(started.elapsed())),
    };
    if let Ok(Event::Exited(status)) = first {
        return Ok(exit_code(status));
    }
    // The group may be gone already; then there is nothing to ask.
    let _ = kill_process_group(program, options.stop_signal);
    let end = Instant::now() + options.grace;
    while let Ok(event) = happened.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if let Event::Exited(status) = event {
            return Ok(if first.is_err() { DEADLINE } else { exit_code(status) });
        }
    }
    let _ = kill_process_group(program, Signal::KILL);
    Ok(if first.is_err() { DEADLINE } else { 128 + 9 })
}

/// Tells the owner, who may not be there any more.
fn tell(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn spawn(options: &Options) -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("--become-for")
        .arg(getpid().to_string())
        .arg("--")
        .args(&options.command)
        .process_group(0)
        .stdin(Stdio::null());
    if let Some(directory) = &options.directory {
        command.current_dir(directory);
    }
    if let Some(log) = &options.log {
        let file = File::options().create(true).append(true).open(log)?;
        command.stdout(file.try_clone()?).stderr(file);
    }
    if let Some(name) = &options.user
        && rustix::process::getuid().is_root()
    {
        let (user, group) = look_up(name)?;
        command.uid(user).gid(group);
    }
    let child = command.spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the program has no process id"))
}

/// Replaces this process by the program, so that the program dies with the guardian even when that is killed.
fn become_program(options: &Options, guardian: i32) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    if getppid() != Pid::from_raw(guardian) {
        return io::Error::other("the guardian was gone before its program began");
    }
    let Some((program, arguments)) = options.command.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no program was given");
    };
    let error = Command::new(program).args(arguments).exec();
    io::Error::new(error.kind(), format!("cannot run {}: {error}", program.display()))
}

/// The ids of a user and its group, from the machine's own list.
fn look_up(name: &str) -> io::Result<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd")?;
    users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.first() == Some(&name))
        .and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)))
        .ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no user {name} on this machine"))
        })
}

fn watch_owner(events: Sender<Event>) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGHUP,
    ])?;
    let by_signal = events.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            let _ = by_signal.send(Event::OwnerGone);
        }
    })?;
    thread::Builder::new().name("owner".into()).spawn(move || {
        let mut buffer = [0; 64];
        // Whatever the owner writes is ignored: only the end matters.
        while matches!(io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        let _ = events.send(Event::OwnerGone);
    })?;
    Ok(())
}

/// Waits for every child, its own and adopted ones, and tells when the program itself ended.
fn reap(program: Pid, events: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let _ = events.send(Event::Exited(status));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Is the first process of a process namespace: reaps what is orphaned there, until it is killed.
///
/// When it ends, the kernel kills everything else in the namespace.
pub fn hold() -> ExitCode {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No child at the moment; processes that enter the namespace come and go.
            Err(_) => thread::sleep(Duration::from_millis(200)),
        }
    }
}
