//! Connections to a server that somebody runs.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgPool};
use zeroize::Zeroizing;

/// The oldest PostgreSQL that is supported.
const OLDEST: i32 = 15;

/// A connection that was used a moment ago is there; one that was not is asked first.
const QUIET: Duration = Duration::from_secs(1);

/// How to reach the database.
#[derive(Clone)]
pub struct Options {
    /// `postgres://user:password@host/database?sslmode=verify-full`.
    pub url: Zeroizing<String>,
    /// How many connections there may be.
    pub connections: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
}

impl Options {
    /// The usual, with this address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Zeroizing::new(url.into()),
            connections: 20,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(20),
        }
    }
}

// The address holds a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connections", &self.connections)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Not an address. The cause is not kept: it might hold the password.
    #[error(
        "the address of the database cannot be read; it looks like postgres://user:password@host:5432/slipway?sslmode=verify-full"
    )]
    Address,
    /// No server, or it refused.
    #[error("could not connect to the database {place}")]
    Refused {
        /// Where, without user and password.
        place: String,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// Too old.
    #[error("the database is PostgreSQL {version}; Slipway needs {OLDEST} or newer")]
    TooOld {
        /// What it is.
        version: i32,
    },
}

impl ConnectError {
    /// Whether it may be otherwise in a moment: the server starts, or the network is not there yet.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Refused { source, .. } => super::error::is_outage(source),
            Self::Address | Self::TooOld { .. } => false,
        }
    }
}

/// Connects, and makes sure that the server is one that can be used. How it is encrypted is in the address
/// (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`).
pub async fn connect(options: &Options) -> Result<PgPool, ConnectError> {
    let statement = options.statement_timeout.as_millis().to_string();
    let lock = (options.statement_timeout / 2).as_millis().to_string();
    let address = PgConnectOptions::from_str(&options.url)
        .map_err(|_| ConnectError::Address)?
        .application_name("slipway")
        .options([
            ("statement_timeout", statement.as_str()),
            ("lock_timeout", lock.as_str()),
            // A server that hangs inside a transaction must not stop the others for good.
            ("idle_in_transaction_session_timeout", statement.as_str()),
        ]);
    let place = place(&address);
    let refused = |source| ConnectError::Refused { place: place.clone(), source };
    let pool = PgPoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.acquire_timeout)
        // Asking each time doubles the ways to the database and back that a request takes.
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(async move {
                if used.idle_for > QUIET {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_with(address)
        .await
        .map_err(refused)?;
    let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::integer / 10000")
        .fetch_one(&pool)
        .await
        .map_err(refused)?;
    if version < OLDEST {
        return Err(ConnectError::TooOld { version });
    }
    Ok(pool)
}

fn place(address: &PgConnectOptions) -> String {
    let database = address.get_database().unwrap_or("postgres");
    match address.get_socket() {
        Some(socket) => format!("{database} at {}", socket.display()),
        None => format!("{database} at {}:{}", address.get_host(), address.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_error_tells_the_password() {
        let wrong = Options::new("postgres://ada:s3cret@host:notaport/slipway");
        let error = connect(&wrong).await.unwrap_err();
        assert!(matches!(error, ConnectError::Address) && !error.may_pass());
        let nobody = Options {
            acquire_timeout: Duration::from_millis(200),
            ..Options::new("postgres://ada:s3cret@127.0.0.1:1/slipway")
        };
        let error = connect(&nobody).await.unwrap_err();
        assert_eq!(error.to_string(), "could not connect to the database slipway at 127.0.0.1:1");
        assert!(error.may_pass());
        assert!(!format!("{error:?} {nobody:?}").contains("s3cret"));
    }
}
