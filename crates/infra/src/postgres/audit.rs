//! What was done. Only ever added to.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::ActorKind;
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRecord, AuditRows};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, QueryBuilder, Row as _};

use super::PostgresStore;
use super::commit::numbers;
use super::error::refused;
use super::moment::Moment;

const COLUMNS: &str =
    "number, at, actor_kind, actor, source, trace_id, action, resource, result, message, before, after";

pub(super) async fn add(connection: &mut PgConnection, entries: &[AuditEntry]) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let numbers = numbers(connection, "audit", entries.len()).await?;
    for (number, entry) in numbers.clone().zip(entries) {
        sqlx::query(
            "INSERT INTO audit_log (number, actor_kind, actor_id, actor, source, trace_id, action, resource,
                 result, message, before, after)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(number)
        .bind(kind(entry.actor.kind))
        .bind(entry.actor.subject())
        .bind(&entry.actor.name)
        .bind(&entry.actor.source)
        .bind(&entry.actor.trace_id)
        .bind(&entry.action)
        .bind(&entry.resource)
        .bind(word(entry.result))
        .bind(&entry.message)
        .bind(&entry.before)
        .bind(&entry.after)
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    }
    Ok(())
}

fn kind(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::User { .. } => "user",
        ActorKind::Token { .. } => "token",
        ActorKind::System => "system",
        ActorKind::Anonymous => "anonymous",
    }
}

fn word(result: AuditResult) -> &'static str {
    match result {
        AuditResult::Success => "success",
        AuditResult::Failure => "failure",
        AuditResult::Denied => "denied",
    }
}

/// Adds `WHERE` and the conditions; more may follow with `AND`.
fn narrow(query: &mut QueryBuilder<Postgres>, filter: &AuditFilter) {
    query.push(" WHERE true");
    for (column, wanted) in
        [("actor", &filter.actor), ("resource", &filter.resource), ("trace_id", &filter.trace_id)]
    {
        if let Some(wanted) = wanted {
            query.push(" AND ").push(column).push(" = ").push_bind(wanted.clone());
        }
    }
    if let Some(action) = &filter.action {
        if action.ends_with('.') {
            query.push(" AND starts_with(action, ").push_bind(action.clone()).push(")");
        } else {
            query.push(" AND action = ").push_bind(action.clone());
        }
    }
    if let Some(result) = filter.result {
        query.push(" AND result = ").push_bind(word(result));
    }
    if let Some(since) = filter.since {
        query.push(" AND at >= ").push_bind(Moment(since));
    }
    if let Some(until) = filter.until {
        query.push(" AND at < ").push_bind(Moment(until));
    }
}

fn read(row: &PgRow) -> Result<AuditRecord, sqlx::Error> {
    let result: String = row.try_get("result")?;
    Ok(AuditRecord {
        number: row.try_get("number")?,
        at: row.try_get::<Moment, _>("at")?.0,
        actor_kind: row.try_get("actor_kind")?,
        actor: row.try_get("actor")?,
        source: row.try_get("source")?,
        trace_id: row.try_get("trace_id")?,
        action: row.try_get("action")?,
        resource: row.try_get("resource")?,
        result: serde_json::from_value(result.into()).map_err(|error| sqlx::Error::Decode(error.into()))?,
        message: row.try_get("message")?,
        before: row.try_get("before")?,
        after: row.try_get("after")?,
    })
}

#[async_trait]
impl AuditRows for PostgresStore {
    async fn audit(&self, filter: &AuditFilter, window: Window) -> Result<Page<AuditRecord>, StoreError> {
        let mut count = QueryBuilder::new("SELECT count(*) FROM audit_log");
        narrow(&mut count, filter);
        let total: i64 = count.build_query_scalar().fetch_one(&self.pool).await.map_err(refused)?;
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM audit_log");
        narrow(&mut query, filter);
        query.push(" ORDER BY number DESC LIMIT ").push_bind(i64::from(window.limit));
        query.push(" OFFSET ").push_bind(i64::try_from(window.offset).unwrap_or(i64::MAX));
        let items =
            query.build().try_map(|row: PgRow| read(&row)).fetch_all(&self.pool).await.map_err(refused)?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn audit_after(
        &self,
        filter: &AuditFilter,
        number: i64,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM audit_log");
        narrow(&mut query, filter);
        query.push(" AND number > ").push_bind(number);
        query.push(" ORDER BY number LIMIT ").push_bind(i64::from(most));
        query.build().try_map(|row: PgRow| read(&row)).fetch_all(&self.pool).await.map_err(refused)
    }

    async fn thin_audit(&self, before: Timestamp) -> Result<u64, StoreError> {
        let removed: i64 = sqlx::query_scalar("SELECT thin_audit_log($1)")
            .bind(Moment(before))
            .fetch_one(&self.pool)
            .await
            .map_err(refused)?;
        Ok(removed.unsigned_abs())
    }
}
