//! When the process is asked to end.

use tokio::signal::unix::{SignalKind, signal};

/// Listens for SIGTERM and SIGINT from now on; done when one comes.
pub(super) fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
