//! The one write.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use slipway_orchestrator::changes::WorkChange;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::OUTBOX;
use slipway_orchestrator::{Changeset, Write};
use sqlx::{PgConnection, PgPool};

use super::error::refused;
use super::transaction::begin;
use super::{
    approvals, audit, clusters, crds, events, health, listener, operators, outbox, rollouts, settings, users,
    work,
};

/// Writes everything in one transaction. The fence is first: its row stays locked, so nobody can claim the
/// work before this is written. So is all other work that changes, in one order: two who change each other's
/// work beside rows of the same thing would otherwise each hold what the other waits for. The counters are last: they make all writers wait for each other, so they
/// are held for as short as can be.
pub(super) async fn commit(pool: &PgPool, changes: Changeset) -> Result<(), StoreError> {
    let Changeset { fence, rows, audit, outbox, events, work } = changes;
    let mut transaction = begin(pool).await?;
    let connection = &mut *transaction;
    work::lock(connection, fence.as_ref(), &work).await?;
    if let Some(fence) = fence {
        work::hold(connection, &fence).await?;
    }
    for write in rows {
        apply(connection, write).await?;
    }
    let mut said = BTreeSet::new();
    for message in &outbox {
        if outbox::add(connection, message).await? {
            said.insert(OUTBOX.to_owned());
        }
    }
    for change in &work {
        work::change(connection, change).await?;
        if let WorkChange::Due(work, _) = change {
            said.insert(work.kind.to_owned());
        }
    }
    audit::add(connection, &audit).await?;
    if let Some(number) = events::add(connection, &events).await? {
        said.insert(number.to_string());
    }
    if !said.is_empty() {
        sqlx::query("SELECT pg_notify($1, $2)")
            .bind(listener::CHANNEL)
            .bind(Vec::from_iter(said).join(" "))
            .execute(&mut *connection)
            .await
            .map_err(refused)?;
    }
    transaction.commit().await.map_err(refused)
}

async fn apply(connection: &mut PgConnection, write: Write) -> Result<(), StoreError> {
    match write {
        Write::User(write) => users::apply(connection, write).await,
        Write::Cluster(write) => clusters::apply(connection, write).await,
        Write::Operator(write) => operators::apply(connection, write).await,
        Write::Crd(write) => crds::apply(connection, write).await,
        Write::Approval(write) => approvals::apply(connection, write).await,
        Write::Health(write) => health::apply(connection, write).await,
        Write::Settings(write) => settings::apply(connection, write).await,
        Write::Rollout(write) => rollouts::apply(connection, write).await,
    }
}

/// Takes so many numbers of a counter. Others wait until the transaction ends, so that numbers are in the
/// order of commits.
pub(super) async fn numbers(
    connection: &mut PgConnection,
    counter: &str,
    how_many: usize,
) -> Result<RangeInclusive<i64>, StoreError> {
    let how_many = i64::try_from(how_many).map_err(|error| StoreError::Other(error.into()))?;
    let last: i64 = sqlx::query_scalar("UPDATE counters SET last = last + $2 WHERE name = $1 RETURNING last")
        .bind(counter)
        .bind(how_many)
        .fetch_one(connection)
        .await
        .map_err(refused)?;
    Ok(last - how_many + 1..=last)
}
