//! Bringing a database to where this server needs it. Forward only.

use sqlx::migrate::MigrateError as Cause;
use sqlx::{Executor as _, PgPool};

/// Why a database cannot be brought to where it is needed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// What was run there is not what this server would have run.
    #[error(
        "the database was changed by another version of migration {0}: it was made by a server that was never released, or by hand; restore a backup, or use another database"
    )]
    Edited(i64),
    /// A migration failed.
    #[error("could not run migration {version}")]
    Failed {
        /// Which.
        version: i64,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// The database does not let us.
    #[error("could not migrate the database")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Runs the migrations that are missing. Several servers may do so at once: the first one works, the others
/// wait. A database that a newer server has already brought further is fine: the servers of two releases
/// in a row work on one database.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await.map_err(|error| MigrateError::Refused(error.into()))?;
    // Migrations, and waiting for another server's, take as long as they take.
    connection
        .execute(
            "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
             SET client_min_messages = warning",
        )
        .await
        .map_err(|error| MigrateError::Refused(error.into()))?;
    let mut migrator = sqlx::migrate!("./migrations");
    migrator.set_ignore_missing(true);
    let outcome = migrator.run_direct(None, &mut *connection, false).await;
    // Not back to the pool: its settings are not the pool's, and a failure leaves the lock in it.
    let _ = connection.close().await;
    outcome.map_err(|cause| match cause {
        Cause::VersionMismatch(version) => MigrateError::Edited(version),
        Cause::ExecuteMigration(source, version) => MigrateError::Failed { version, source },
        other => MigrateError::Refused(other.into()),
    })
}
