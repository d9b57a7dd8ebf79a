//! What the database's errors mean to the use cases.

use slipway_orchestrator::ports::StoreError;
use sqlx::error::ErrorKind;

/// What the database said, without the row it said it about: that may hold what must not be logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLSTATE {code})")]
pub struct Refusal {
    /// PostgreSQL's code.
    pub code: String,
    /// PostgreSQL's sentence.
    pub message: String,
}

/// Maps an error of the database to what a use case can act on.
pub fn refused(error: sqlx::Error) -> StoreError {
    let outage = is_outage(&error);
    match error {
        sqlx::Error::Database(said) => {
            let constraint = said.constraint().unwrap_or_default().to_owned();
            match said.kind() {
                ErrorKind::UniqueViolation => return StoreError::Taken { constraint },
                ErrorKind::ForeignKeyViolation => return StoreError::Referenced { constraint },
                _ => {}
            }
            let code = said.code().unwrap_or_default().into_owned();
            let refusal = Box::new(Refusal { code, message: said.message().to_owned() });
            if outage { StoreError::Unavailable(refusal) } else { StoreError::Other(refusal) }
        }
        error if outage => StoreError::Unavailable(Box::new(error)),
        error => StoreError::Other(Box::new(error)),
    }
}

/// Whether it says more about the database's state than about the query: trying again may help.
pub(super) fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        // A connection that ends in the middle of an answer.
        | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(said) => said.code().is_some_and(|code| is_passing(&code)),
        _ => false,
    }
}

/// Connections lost or too many, shutting down or starting, taken by a standby, timeouts and deadlocks.
fn is_passing(code: &str) -> bool {
    ["08", "53", "57P0"].iter().any(|class| code.starts_with(class))
        || matches!(code, "25006" | "25P03" | "40001" | "40P01" | "55P03" | "57014")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_is_wrong() {
        for code in ["57P01", "57P03", "08006", "53300", "40P01", "57014"] {
            assert!(is_passing(code), "{code}");
        }
        for code in ["23505", "42601", "22P02"] {
            assert!(!is_passing(code), "{code}");
        }
        assert!(matches!(refused(sqlx::Error::PoolTimedOut), StoreError::Unavailable(_)));
        assert!(matches!(refused(sqlx::Error::RowNotFound), StoreError::Other(_)));
    }
}
