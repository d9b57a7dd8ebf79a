//! Counting attempts to log in, one after the other for each key.

use jiff::Timestamp;
use slipway_domain::user::{Attempts, Turn};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::AttemptKey;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row as _};

use crate::postgres::error::refused;
use crate::postgres::moment::Moment;
use crate::postgres::transaction::begin;

fn key(of: &AttemptKey) -> String {
    match of {
        AttemptKey::Name(name) => format!("name/{name}"),
        AttemptKey::Source(source) => format!("source/{source}"),
    }
}

/// Names come before places in every transaction, so that two of them never wait for each other.
fn in_order(keys: &[AttemptKey]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|index| keys.get(*index).map(key));
    order
}

pub(super) async fn count(
    pool: &PgPool,
    keys: &[AttemptKey],
    now: Timestamp,
) -> Result<Vec<Turn>, StoreError> {
    let mut transaction = begin(pool).await?;
    let mut turns = vec![Turn::Locked { until: now }; keys.len()];
    for index in in_order(keys) {
        if let (Some(of), Some(turn)) = (keys.get(index), turns.get_mut(index)) {
            *turn = count_one(&mut transaction, of, now).await?;
        }
    }
    transaction.commit().await.map_err(refused)?;
    Ok(turns)
}

async fn count_one(
    connection: &mut PgConnection,
    of: &AttemptKey,
    now: Timestamp,
) -> Result<Turn, StoreError> {
    let key = key(of);
    // The row is locked from here on, whether or not it was there.
    let before = sqlx::query(
        "INSERT INTO login_attempts (key, failures, last_at) VALUES ($1, 0, $2)
         ON CONFLICT (key) DO UPDATE SET key = login_attempts.key
         RETURNING failures, last_at, locked_until",
    )
    .bind(&key)
    .bind(Moment(now))
    .try_map(|row: PgRow| {
        Ok(Attempts {
            failures: row.try_get::<i32, _>("failures")?.unsigned_abs(),
            last_at: row.try_get::<Moment, _>("last_at")?.0,
            locked_until: row.try_get::<Option<Moment>, _>("locked_until")?.map(|until| until.0),
        })
    })
    .fetch_one(&mut *connection)
    .await
    .map_err(refused)?;
    let turn = Attempts::next(Some(before), now, of.rules());
    if let Turn::Heard(attempts) = turn {
        sqlx::query(
            "UPDATE login_attempts SET failures = $2, last_at = $3, locked_until = $4 WHERE key = $1",
        )
        .bind(&key)
        .bind(i32::try_from(attempts.failures).unwrap_or(i32::MAX))
        .bind(Moment(attempts.last_at))
        .bind(attempts.locked_until.map(Moment))
        .execute(connection)
        .await
        .map_err(refused)?;
    }
    Ok(turn)
}

/// Forgets a name's attempts, and takes one of a place's back.
pub(super) async fn forgive(connection: &mut PgConnection, keys: &[AttemptKey]) -> Result<(), StoreError> {
    for of in in_order(keys).into_iter().filter_map(|index| keys.get(index)) {
        let query = match of {
            AttemptKey::Name(_) => "DELETE FROM login_attempts WHERE key = $1",
            AttemptKey::Source(_) => {
                "UPDATE login_attempts SET failures = GREATEST(failures - 1, 0), locked_until = NULL
                 WHERE key = $1"
            }
        };
        sqlx::query(query).bind(key(of)).execute(&mut *connection).await.map_err(refused)?;
    }
    Ok(())
}
