//! What callers use, counted by all servers together, and the replies that are given twice.

use async_trait::async_trait;
use slipway_orchestrator::ports::limits::{KeptReply, Keyed, Taken, Usage};
use slipway_orchestrator::ports::{Limits, Replies, StoreError};
use sqlx::Row as _;
use sqlx::types::Json;

use super::PostgresStore;
use super::error::refused;

/// One statement: what is left of the minute before, and one more in this one if there is room. Two servers
/// that count at once wait for each other at the row.
const COUNT: &str = "
WITH moment AS (
    SELECT start, extract(epoch FROM now - start)::float8 AS elapsed
    FROM (SELECT clock_timestamp() AS now) t, LATERAL (SELECT date_trunc('minute', now, 'UTC') AS start) s
), before AS (
    SELECT COALESCE((
        SELECT used FROM rate_limits, moment
        WHERE bucket = $1 AND subject = $2 AND window_start = moment.start - interval '1 minute'
    ), 0) AS used
), weighed AS (
    SELECT start, elapsed, before.used, before.used * (1 - elapsed / 60) AS weight FROM moment, before
), counted AS (
    INSERT INTO rate_limits AS r (bucket, subject, window_start, used)
    SELECT $1, $2, start, 1 FROM weighed WHERE weight + 1 <= $3
    ON CONFLICT (bucket, subject, window_start)
    DO UPDATE SET used = r.used + 1 WHERE r.used + 1 + (SELECT weight FROM weighed) <= $3
    RETURNING used
)
SELECT
    (SELECT used FROM counted) AS counted,
    COALESCE((
        SELECT used FROM rate_limits WHERE bucket = $1 AND subject = $2 AND window_start = weighed.start
    ), 0) AS now,
    weighed.used AS before,
    weighed.elapsed,
    extract(epoch FROM weighed.start)::int8 AS began
FROM weighed";

#[async_trait]
impl Limits for PostgresStore {
    async fn count(&self, bucket: &str, subject: &str, limit: u32) -> Result<Usage, StoreError> {
        let row = sqlx::query(COUNT)
            .bind(bucket)
            .bind(subject)
            .bind(i64::from(limit))
            .fetch_one(self.pool())
            .await
            .map_err(refused)?;
        let counted: Option<i64> = row.try_get("counted").map_err(refused)?;
        let seen: i64 = row.try_get("now").map_err(refused)?;
        let before: i64 = row.try_get("before").map_err(refused)?;
        let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Usage {
            counted: counted.is_some(),
            limit,
            before: number(before),
            // What the statement itself counted is not among what it sees.
            now: number(counted.unwrap_or(seen)),
            elapsed: row.try_get("elapsed").map_err(refused)?,
            began: row.try_get("began").map_err(refused)?,
        })
    }

    async fn thin_limits(&self) -> Result<u64, StoreError> {
        sqlx::query("DELETE FROM rate_limits WHERE window_start < clock_timestamp() - interval '3 minutes'")
            .execute(self.pool())
            .await
            .map(|done| done.rows_affected())
            .map_err(refused)
    }
}

/// How long a server may take to answer before another attempt may.
const HOLD: &str = "2 minutes";
/// How long a reply is kept.
const KEEP: &str = "24 hours";

#[async_trait]
impl Replies for PostgresStore {
    async fn take(&self, request: &Keyed) -> Result<Taken, StoreError> {
        // A key that is new, or whose time is over, or whose server is gone, is taken.
        let taken = sqlx::query(
            "INSERT INTO idempotency_keys AS k (subject, key, request_hash, held_by, held_until, expires_at)
             VALUES ($1, $2, $3, $4, clock_timestamp() + $5::interval, clock_timestamp() + $6::interval)
             ON CONFLICT (subject, key) DO UPDATE SET
                 request_hash = excluded.request_hash, held_by = excluded.held_by,
                 held_until = excluded.held_until, expires_at = excluded.expires_at,
                 status = NULL, headers = NULL, body = NULL, created_at = clock_timestamp()
             WHERE k.expires_at < clock_timestamp() OR (
                 k.status IS NULL AND k.request_hash = excluded.request_hash
                 AND k.held_until < clock_timestamp()
             )",
        )
        .bind(&request.subject)
        .bind(&request.key)
        .bind(request.digest.as_slice())
        .bind(request.holder)
        .bind(HOLD)
        .bind(KEEP)
        .execute(self.pool())
        .await
        .map_err(refused)?;
        if taken.rows_affected() == 1 {
            return Ok(Taken::Fresh);
        }
        let found = sqlx::query(
            "SELECT request_hash, status, headers, body FROM idempotency_keys WHERE subject = $1 AND key = $2",
        )
        .bind(&request.subject)
        .bind(&request.key)
        .fetch_optional(self.pool())
        .await
        .map_err(refused)?;
        // Given back between the two statements: whoever asks again takes it.
        let Some(row) = found else { return Ok(Taken::UnderWay) };
        let digest: Vec<u8> = row.try_get("request_hash").map_err(refused)?;
        if digest != request.digest {
            return Ok(Taken::Other);
        }
        let Some(status) = row.try_get::<Option<i16>, _>("status").map_err(refused)? else {
            return Ok(Taken::UnderWay);
        };
        let headers: Option<Json<Vec<(String, String)>>> = row.try_get("headers").map_err(refused)?;
        let body: Option<Vec<u8>> = row.try_get("body").map_err(refused)?;
        Ok(Taken::Answered(KeptReply {
            status: u16::try_from(status).unwrap_or(500),
            headers: headers.map(|headers| headers.0).unwrap_or_default(),
            body: body.unwrap_or_default(),
        }))
    }

    async fn keep(&self, request: &Keyed, reply: &KeptReply) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE idempotency_keys SET status = $4, headers = $5, body = $6
             WHERE subject = $1 AND key = $2 AND held_by = $3",
        )
        .bind(&request.subject)
        .bind(&request.key)
        .bind(request.holder)
        .bind(i16::try_from(reply.status).unwrap_or(500))
        .bind(Json(&reply.headers))
        .bind(&reply.body)
        .execute(self.pool())
        .await
        .map(drop)
        .map_err(refused)
    }

    async fn give_back(&self, request: &Keyed) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM idempotency_keys
             WHERE subject = $1 AND key = $2 AND held_by = $3 AND status IS NULL",
        )
        .bind(&request.subject)
        .bind(&request.key)
        .bind(request.holder)
        .execute(self.pool())
        .await
        .map(drop)
        .map_err(refused)
    }

    async fn thin_replies(&self) -> Result<u64, StoreError> {
        sqlx::query("DELETE FROM idempotency_keys WHERE expires_at < clock_timestamp()")
            .execute(self.pool())
            .await
            .map(|done| done.rows_affected())
            .map_err(refused)
    }
}
