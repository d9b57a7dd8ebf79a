//! A PostgreSQL server of our own, for machines where nobody runs one.
//!
//! Its programs are found on the machine. Its data is in a folder of ours, it listens on a Unix socket in
//! that folder and nowhere else, and it asks for a password that only that folder knows. It runs under the
//! guardian: when this process ends, however, it ends too, in order. It never runs as root.

mod backup;
mod error;
mod folder;
mod owner;
mod programs;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::info;

pub use error::EmbeddedError;

use super::Options;
use folder::{Folder, Lock};
use owner::Owner;
use programs::Programs;
use server::Server;

/// The database that holds everything of ours.
const DATABASE: &str = "slipway";

/// Where the server's data is and what runs it.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The folder for data, socket, password and log; made if it is not there.
    pub folder: PathBuf,
    /// The guardian program.
    pub guardian: PathBuf,
}

/// The server, while it is ours to run. Dropping it ends it.
#[derive(Debug)]
pub struct Embedded {
    folder: Folder,
    programs: Programs,
    password: zeroize::Zeroizing<String>,
    stop: Option<oneshot::Sender<()>>,
    supervisor: JoinHandle<()>,
    // Last: nobody else may have the folder before the server is told to end.
    _lock: Lock,
}

impl Embedded {
    /// Makes the server where there is none, starts it, and waits until it answers. From then on it is
    /// started again whenever it ends.
    pub async fn start(options: &EmbeddedOptions) -> Result<Self, EmbeddedError> {
        let owner = Owner::find()?;
        let folder = Folder::prepare(&options.folder, &owner)?;
        let lock = folder.lock()?;
        let programs = folder.programs()?;
        let password = folder.password(&owner)?;
        let server = Server {
            folder: folder.clone(),
            programs: programs.clone(),
            owner,
            guardian: options.guardian.clone(),
        };
        if folder.major()?.is_none() {
            info!(folder = %folder.path().display(), "making a PostgreSQL server");
            server.make().await?;
        }
        server.wait_for_predecessor().await?;
        let mut running = server.start()?;
        running.answers(&folder.url("postgres", &password)).await?;
        make_database(&folder.url("postgres", &password)).await?;
        info!(folder = %folder.path().display(), version = programs.version(), "PostgreSQL runs");
        let (stop, stopped) = oneshot::channel();
        let supervisor = tokio::spawn(server.supervise(running, stopped));
        Ok(Self { folder, programs, password, stop: Some(stop), supervisor, _lock: lock })
    }

    /// How to connect to it.
    pub fn options(&self) -> Options {
        Options::new(self.folder.url(DATABASE, &self.password).as_str())
    }

    /// Ends it in order, and waits for that.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        let _ = (&mut self.supervisor).await;
    }
}

async fn make_database(url: &str) -> Result<(), EmbeddedError> {
    let mut admin = PgConnection::connect(url).await.map_err(EmbeddedError::Refused)?;
    let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(DATABASE)
        .fetch_one(&mut admin)
        .await
        .map_err(EmbeddedError::Refused)?;
    if !there {
        let make = AssertSqlSafe(format!("CREATE DATABASE {DATABASE}"));
        admin.execute(make).await.map_err(EmbeddedError::Refused)?;
    }
    let _ = admin.close().await;
    Ok(())
}

/// How long a server may take to end by itself.
const GRACE: Duration = Duration::from_mins(1);
