//! Work that one server at a time does.

use std::time::Duration;

use async_trait::async_trait;
use slipway_orchestrator::Fence;
use slipway_orchestrator::changes::{Work, WorkChange};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Claim, WorkRows};
use sqlx::PgConnection;

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

/// Locks all work that a commit holds or changes, as far as it is there, in the order of its keys.
pub(super) async fn lock(
    connection: &mut PgConnection,
    fence: Option<&Fence>,
    changes: &[WorkChange],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let changed = changes.iter().map(|change| match change {
        WorkChange::Due(work, _) | WorkChange::Finish(work) | WorkChange::End(work) => work,
    });
    let (kinds, keys): (Vec<&str>, Vec<&str>) =
        fence.map(|fence| &fence.work).into_iter().chain(changed).map(|work| (work.kind, &*work.key)).unzip();
    sqlx::query(
        "SELECT 1 FROM work WHERE (kind, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))
         ORDER BY kind, key FOR UPDATE",
    )
    .bind(kinds)
    .bind(keys)
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

/// Makes sure that a claim holds, and that it does until the transaction ends.
pub(super) async fn hold(connection: &mut PgConnection, fence: &Fence) -> Result<(), StoreError> {
    let held: Option<i64> = sqlx::query_scalar(
        "UPDATE work SET epoch = epoch
         WHERE kind = $1 AND key = $2 AND epoch = $3 AND claim_until IS NOT NULL RETURNING epoch",
    )
    .bind(fence.work.kind)
    .bind(&fence.work.key)
    .bind(fence.epoch)
    .fetch_optional(connection)
    .await
    .map_err(refused)?;
    held.map(drop).ok_or(StoreError::Fenced)
}

pub(super) async fn change(connection: &mut PgConnection, change: &WorkChange) -> Result<(), StoreError> {
    let query = match change {
        WorkChange::Due(work, at) => sqlx::query(
            "INSERT INTO work (kind, key, due_at) VALUES ($1, $2, $3)
             ON CONFLICT (kind, key) DO UPDATE
             SET due_at = excluded.due_at, moved = work.claim_until IS NOT NULL",
        )
        .bind(work.kind)
        .bind(&work.key)
        .bind(Moment(*at)),
        WorkChange::End(work) => {
            sqlx::query("DELETE FROM work WHERE kind = $1 AND key = $2").bind(work.kind).bind(&work.key)
        }
        WorkChange::Finish(work) => {
            sqlx::query("DELETE FROM work WHERE kind = $1 AND key = $2 AND NOT moved")
                .bind(work.kind)
                .bind(&work.key)
        }
    };
    query.execute(connection).await.map(drop).map_err(refused)
}

#[async_trait]
impl WorkRows for PostgresStore {
    async fn claim(&self, kind: &'static str, most: u32, lease: Duration) -> Result<Vec<Claim>, StoreError> {
        let claimed: Vec<(String, i64)> = sqlx::query_as(
            "WITH due AS (
                 SELECT kind, key FROM work
                 WHERE kind = $1 AND due_at <= now() AND (claim_until IS NULL OR claim_until < now())
                 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
             )
             UPDATE work SET claimed_by = $3, claim_until = now() + make_interval(secs => $4),
                 epoch = nextval('work_epochs'), moved = false
             FROM due WHERE work.kind = due.kind AND work.key = due.key
             RETURNING work.key, work.epoch",
        )
        .bind(kind)
        .bind(i64::from(most))
        .bind(&*self.server)
        .bind(lease.as_secs_f64())
        .fetch_all(&self.pool)
        .await
        .map_err(refused)?;
        Ok(claimed.into_iter().map(|(key, epoch)| Claim { work: Work { kind, key }, epoch }).collect())
    }

    async fn keep(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError> {
        let kept = sqlx::query(
            "UPDATE work SET claim_until = now() + make_interval(secs => $4)
             WHERE kind = $1 AND key = $2 AND epoch = $3 AND claim_until IS NOT NULL",
        )
        .bind(claim.work.kind)
        .bind(&claim.work.key)
        .bind(claim.epoch)
        .bind(lease.as_secs_f64())
        .execute(&self.heartbeats)
        .await
        .map_err(refused)?;
        Ok(kept.rows_affected() > 0)
    }

    async fn release(&self, claim: &Claim, after: Duration) -> Result<(), StoreError> {
        // What was made due anew meanwhile stays so: the one who held it may not have seen why.
        sqlx::query(
            "UPDATE work SET claimed_by = NULL, claim_until = NULL, moved = false,
                 due_at = CASE WHEN moved THEN least(due_at, now() + make_interval(secs => $4))
                     ELSE now() + make_interval(secs => $4) END
             WHERE kind = $1 AND key = $2 AND epoch = $3 AND claim_until IS NOT NULL",
        )
        .bind(claim.work.kind)
        .bind(&claim.work.key)
        .bind(claim.epoch)
        .bind(after.as_secs_f64())
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(refused)
    }

    async fn next_due(&self, kind: &'static str) -> Result<Option<Duration>, StoreError> {
        let seconds: Option<f64> = sqlx::query_scalar(
            "SELECT extract(epoch FROM min(greatest(due_at, coalesce(claim_until, due_at))) - now())::float8
             FROM work WHERE kind = $1",
        )
        .bind(kind)
        .fetch_one(&self.pool)
        .await
        .map_err(refused)?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)))
    }
}
