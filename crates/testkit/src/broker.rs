//! Leases what is costly to start: control planes, real nodes, a PostgreSQL server.
//!
//! `cargo xtask test` runs one broker for all test processes. A connection is a lease: what was
//! asked for is ended when the connection closes, whether the test let go or was killed. A control
//! plane is never used twice, since CRDs, webhooks and roles would be left in it; the next ones are
//! started ahead instead.

mod protocol;
mod stock;

use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

pub use protocol::{Answer, Order, Wanted};

use crate::control_plane::ControlPlaneProcess;
use crate::real_cluster::RealClusterProcess;
use crate::scratch::{self, scratch_file};
use stock::Stock;

/// The broker of this process: where `SLIPWAY_BROKER` points, else one of its own.
pub(crate) fn socket() -> anyhow::Result<&'static Path> {
    static SOCKET: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let socket =
        SOCKET.get_or_init(|| match std::env::var_os("SLIPWAY_BROKER").filter(|value| !value.is_empty()) {
            Some(path) => Ok(path.into()),
            None => start_own().map_err(|error| format!("{error:#}")),
        });
    socket.as_deref().map_err(|error| anyhow!("{error}"))
}

/// A broker in a thread of this process.
struct Own {
    end: Arc<Notify>,
    thread: JoinHandle<()>,
}

static OWN: Mutex<Option<Own>> = Mutex::new(None);

/// Starts a broker in a thread of this process, for a single `cargo test` and the lab.
fn start_own() -> anyhow::Result<PathBuf> {
    let path = scratch_file("broker")?;
    let listener = bind(&path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    let end = Arc::new(Notify::new());
    let ended = Arc::clone(&end);
    let thread = std::thread::Builder::new().name("broker".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                Err(error) = serve(listener, 0) => eprintln!("the broker ended: {error:#}"),
                () = ended.notified() => {}
            }
        });
    })?;
    *OWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Own { end, thread });
    Ok(path)
}

/// Ends this process's own broker, if it has one, and waits until all it started is gone, scratch
/// directories included.
///
/// A test need not: what is left ends with its process. A program that says "everything is removed" does.
pub fn close() {
    if let Some(own) = OWN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        own.end.notify_one();
        let _ = own.thread.join();
    }
    scratch::close();
}

/// Listens on a path.
pub fn bind(path: &Path) -> anyhow::Result<StdListener> {
    let listener = StdListener::bind(path).with_context(|| format!("listening on {}", path.display()))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves leases until it is dropped; keeps `ahead` control planes ready for the next test.
pub async fn serve(listener: StdListener, ahead: usize) -> anyhow::Result<()> {
    crate::init();
    let listener = UnixListener::from_std(listener)?;
    let stock = Arc::new(Stock::new(ahead));
    stock.replenish();
    loop {
        let (stream, _) = listener.accept().await?;
        let stock = Arc::clone(&stock);
        tokio::spawn(async move {
            if let Err(error) = lease(stream, &stock).await {
                eprintln!("a lease ended badly: {error:#}");
            }
        });
    }
}

/// What a connection holds.
enum Held {
    ControlPlane(Box<ControlPlaneProcess>),
    RealCluster(Box<RealClusterProcess>),
    /// Shared, so there is nothing to end.
    Postgres,
}

async fn lease(stream: UnixStream, stock: &Arc<Stock>) -> anyhow::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let Some(line) = lines.next_line().await? else { return Ok(()) };
    let wanted: Wanted = serde_json::from_str(&line).context("reading what is wanted")?;
    let (mut held, answer) = match provide(wanted, stock).await {
        Ok((held, info)) => (Some(held), Answer::Done(info)),
        Err(error) => (None, Answer::Failed(format!("{error:#}"))),
    };
    send(&mut writer, &answer).await?;
    while let (Some(held), Ok(Some(line))) = (&mut held, lines.next_line().await) {
        let order: Order = serde_json::from_str(&line).context("reading an order")?;
        let answer = match obey(held, order).await {
            Ok(()) => Answer::Done(serde_json::Value::Null),
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        send(&mut writer, &answer).await?;
    }
    // Ending processes blocks for a moment; other leases must not wait for it.
    tokio::task::spawn_blocking(move || drop(held)).await?;
    Ok(())
}

async fn send(writer: &mut (impl AsyncWriteExt + Unpin), answer: &Answer) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    writer.write_all(&line).await.context("answering")
}

async fn provide(wanted: Wanted, stock: &Arc<Stock>) -> anyhow::Result<(Held, serde_json::Value)> {
    fn info(value: &impl Serialize) -> anyhow::Result<serde_json::Value> {
        serde_json::to_value(value).context("describing what was leased")
    }
    Ok(match wanted {
        Wanted::ControlPlane(options) => {
            let process = stock.control_plane(&options).await?;
            let info = info(process.info())?;
            (Held::ControlPlane(Box::new(process)), info)
        }
        Wanted::RealCluster { name } => {
            let process = RealClusterProcess::start(&name).await?;
            let info = info(process.info())?;
            (Held::RealCluster(Box::new(process)), info)
        }
        Wanted::Postgres => (Held::Postgres, info(&stock.postgres().await?)?),
    })
}

async fn obey(held: &mut Held, order: Order) -> anyhow::Result<()> {
    match (held, order) {
        (Held::ControlPlane(process), Order::Signal { part, signal }) => {
            let signal = rustix::process::Signal::from_named_raw(signal).context("not a signal")?;
            process.part(&part)?.signal(signal)
        }
        (Held::ControlPlane(process), Order::Start { part }) => {
            process.start_part(&part)?;
            if part == "kube-apiserver" {
                process.api_server_ready().await?;
            }
            Ok(())
        }
        (Held::RealCluster(process), Order::RestartKubelet) => process.restart_kubelet().await,
        (_, order) => Err(anyhow!("what was leased cannot do {order:?}")),
    }
}
