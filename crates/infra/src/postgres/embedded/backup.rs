//! Backups in PostgreSQL's own format, which `pg_restore` reads.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::process::Command;
use tracing::info;

use super::error::EmbeddedError;
use super::folder::Folder;
use super::programs::Programs;
use super::{DATABASE, Embedded};

/// Where a backup is restored before it takes the database's place.
const RESTORED: &str = "slipway_restored";

/// The name of the database that a restored one replaced, until it is dropped.
const REPLACED: &str = "slipway_replaced";

impl Embedded {
    /// Writes a backup of a server that runs, whoever runs it; nothing if it does not run.
    pub async fn backup_of_running(folder: &Path, file: &Path) -> Result<Option<()>, EmbeddedError> {
        let folder = Folder::at(folder);
        let Some(password) = folder.kept_password()? else { return Ok(None) };
        let url = folder.url(DATABASE, &password);
        match PgConnection::connect(&url).await {
            Ok(connection) => drop(connection.close().await),
            Err(_) => return Ok(None),
        }
        dump(&folder.programs()?, &folder, &password, file).await.map(Some)
    }

    /// Writes a backup to a file that only its owner can read; whole or not at all.
    pub async fn backup(&self, file: &Path) -> Result<(), EmbeddedError> {
        dump(&self.programs, &self.folder, &self.password, file).await
    }

    /// Puts a backup in the place of everything that is there. A backup that cannot be read changes nothing.
    pub async fn restore(&self, file: &Path) -> Result<(), EmbeddedError> {
        fs::metadata(file).map_err(EmbeddedError::file("read", file))?;
        let refused = EmbeddedError::Refused;
        let url = self.folder.url("postgres", &self.password);
        let mut admin = PgConnection::connect(&url).await.map_err(refused)?;
        for sql in [
            format!("DROP DATABASE IF EXISTS {RESTORED} WITH (FORCE)"),
            format!("CREATE DATABASE {RESTORED} TEMPLATE template0"),
        ] {
            admin.execute(AssertSqlSafe(sql)).await.map_err(refused)?;
        }
        let mut command = client(&self.programs, "pg_restore", &self.folder, &self.password, RESTORED);
        command.args(["--exit-on-error", "--no-owner", "--single-transaction", "--no-password"]).arg(file);
        let outcome = run("pg_restore", command).await;
        if outcome.is_err() {
            let _ = admin
                .execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {RESTORED} WITH (FORCE)")))
                .await;
            return outcome;
        }
        // Both names change in one transaction: a crash leaves the one database or the other.
        for sql in [
            format!("DROP DATABASE IF EXISTS {REPLACED} WITH (FORCE)"),
            format!(
                "BEGIN; ALTER DATABASE {DATABASE} RENAME TO {REPLACED}; \
                 ALTER DATABASE {RESTORED} RENAME TO {DATABASE}; COMMIT"
            ),
            format!("DROP DATABASE {REPLACED} WITH (FORCE)"),
        ] {
            admin.execute(AssertSqlSafe(sql)).await.map_err(refused)?;
        }
        let _ = admin.close().await;
        info!(file = %file.display(), "restored a backup");
        Ok(())
    }
}

async fn dump(
    programs: &Programs,
    folder: &Folder,
    password: &str,
    file: &Path,
) -> Result<(), EmbeddedError> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    // Before pg_dump would: nobody else may read it, from its first byte.
    let open = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&part);
    let out = open.map_err(EmbeddedError::file("write", &part))?;
    let mut command = client(programs, "pg_dump", folder, password, DATABASE);
    command.args(["--format=custom", "--no-password"]);
    command.stdout(out.try_clone().map_err(EmbeddedError::file("write", &part))?);
    let outcome = run("pg_dump", command).await.and_then(|()| {
        out.sync_all().map_err(EmbeddedError::file("write", &part))?;
        fs::rename(&part, file).map_err(EmbeddedError::file("write", file))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&part);
    }
    outcome
}

fn client(programs: &Programs, name: &str, folder: &Folder, password: &str, database: &str) -> Command {
    let mut command = Command::new(programs.file(name));
    command
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .env("PGHOST", folder.sockets())
        .env("PGPORT", "5432")
        .env("PGUSER", "postgres")
        .env("PGPASSWORD", password)
        .env("PGAPPNAME", "slipway-backup")
        .arg(format!("--dbname={database}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn run(program: &'static str, mut command: Command) -> Result<(), EmbeddedError> {
    let path = Path::new(command.as_std().get_program()).to_owned();
    let child = command.spawn().map_err(EmbeddedError::file("run", &path))?;
    let output = child.wait_with_output().await.map_err(EmbeddedError::file("run", &path))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(EmbeddedError::Failed { program, said })
}
