//! Showing that a long step is alive: a line that moves on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const WIDTH: usize = 24;
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// A step under way; dropping it without [`Progress::done`] shows it as failed.
pub(crate) struct Progress {
    what: String,
    started: Instant,
    stop: Option<Sender<()>>,
    painter: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins a step that takes about `expected` when nothing of it is cached.
    pub(crate) fn start(what: &str, expected: Option<Duration>) -> Self {
        let started = Instant::now();
        let (stop, stopped) = channel();
        let terminal = stderr().is_terminal();
        let label = what.to_owned();
        if !terminal {
            let about = expected.map(|time| format!(", about {}", minutes(time))).unwrap_or_default();
            eprintln!("  {what}{about} …");
        }
        let painter = std::thread::spawn(move || {
            let pause = if terminal { Duration::from_millis(120) } else { Duration::from_mins(1) };
            for frame in FRAMES.iter().cycle() {
                match stopped.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return,
                }
                let elapsed = started.elapsed();
                if terminal {
                    let bar = expected.map(|time| format!("  {}", bar(elapsed, time))).unwrap_or_default();
                    eprint!("\r\x1b[2K{frame} {label}{bar}  {}", minutes(elapsed));
                    let _ = stderr().flush();
                } else {
                    eprintln!("  {label}: {} so far", minutes(elapsed));
                }
            }
        });
        Self { what: what.to_owned(), started, stop: Some(stop), painter: Some(painter) }
    }

    /// Ends the step well.
    pub(crate) fn done(mut self) {
        self.finish("✓", "done");
    }

    fn finish(&mut self, glyph: &str, word: &str) {
        drop(self.stop.take());
        let Some(painter) = self.painter.take() else { return };
        let _ = painter.join();
        let elapsed = minutes(self.started.elapsed());
        if stderr().is_terminal() {
            eprintln!("\r\x1b[2K{glyph} {}  {elapsed}", self.what);
        } else {
            eprintln!("  {}: {word} in {elapsed}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish("✗", "failed");
    }
}

/// A bar that fills towards what is expected and never claims to be finished before it is.
fn bar(elapsed: Duration, expected: Duration) -> String {
    let share = (elapsed.as_secs_f64() / expected.as_secs_f64().max(1.0)).min(0.98);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a short bar"
    )]
    let full = (share * WIDTH as f64) as usize;
    format!("{}{} of about {}", "█".repeat(full), "░".repeat(WIDTH - full), minutes(expected))
}

/// A time as people say it.
pub(crate) fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_say_them() {
        assert_eq!(minutes(Duration::from_millis(340)), "0.3 s");
        assert_eq!(minutes(Duration::from_secs(59)), "59 s");
        assert_eq!(minutes(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_bar_is_never_full_before_the_end() {
        let bar = bar(Duration::from_mins(15), Duration::from_mins(1));
        assert!(bar.contains('░'), "{bar}");
    }
}
