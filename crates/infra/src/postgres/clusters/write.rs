//! Changes of clusters. One that is conditional and finds another row than was read fails the whole.

use jiff::Timestamp;
use slipway_domain::cluster::{Cluster, ClusterHealth, CredentialFacts, State};
use slipway_domain::id::ClusterId;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::ClusterWrite;
use sqlx::PgConnection;
use sqlx::postgres::PgQueryResult;
use sqlx::types::Json;

use crate::postgres::error::refused;
use crate::postgres::moment::Moment;

pub(in crate::postgres) async fn apply(
    connection: &mut PgConnection,
    write: ClusterWrite,
) -> Result<(), StoreError> {
    match write {
        ClusterWrite::Insert { cluster, sealed } => insert(connection, &cluster, &sealed).await,
        ClusterWrite::Describe { id, revision, description, environment, labels, at } => {
            let done = sqlx::query(
                "UPDATE clusters SET description = $3, environment = $4, labels = $5, updated_at = $6,
                     revision = revision + 1
                 WHERE id = $1 AND revision = $2",
            )
            .bind(id.0)
            .bind(revision)
            .bind(description)
            .bind(environment.to_string())
            .bind(Json(labels))
            .bind(Moment(at))
            .execute(connection)
            .await;
            changed(done)
        }
        ClusterWrite::State { id, state, at } => {
            let done = sqlx::query(
                "UPDATE clusters SET is_enabled = $2, updated_at = $3, revision = revision + 1,
                     health_status = 'Unknown', health_reason = NULL, health_since = NULL,
                     reachable = false, latency_ms = NULL, last_health_check_at = NULL
                 WHERE id = $1",
            )
            .bind(id.0)
            .bind(state == State::Enabled)
            .bind(Moment(at))
            .execute(connection)
            .await;
            changed(done)
        }
        ClusterWrite::Access { id, version, sealed, server, facts } => {
            access(connection, id, version, &sealed, &server, facts).await
        }
        ClusterWrite::Health { id, health, uid, changed, noted } => {
            keep(connection, id, &health, uid.as_deref(), changed, noted).await
        }
        ClusterWrite::ThinHistory { id, before } => thin(connection, id, before).await,
        ClusterWrite::Remove { id } => {
            let done = sqlx::query("DELETE FROM clusters WHERE id = $1").bind(id.0).execute(connection).await;
            changed(done)
        }
        other => Err(StoreError::Other(format!("{other:?} is not known here").into())),
    }
}

fn changed(done: Result<PgQueryResult, sqlx::Error>) -> Result<(), StoreError> {
    match done.map_err(refused)?.rows_affected() {
        0 => Err(StoreError::Stale { what: "the cluster".to_owned() }),
        _ => Ok(()),
    }
}

fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

async fn insert(connection: &mut PgConnection, cluster: &Cluster, sealed: &[u8]) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO clusters (id, name, description, environment, labels, api_server_url, uid, is_enabled,
             credential_kind, credential_expires_at, credential_changed_at, revision, registered_at,
             updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(cluster.id.0)
    .bind(cluster.name.as_str())
    .bind(&cluster.description)
    .bind(cluster.environment.to_string())
    .bind(Json(&cluster.labels))
    .bind(&cluster.server)
    .bind(&cluster.uid)
    .bind(cluster.state == State::Enabled)
    .bind(cluster.credentials.kind.to_string())
    .bind(cluster.credentials.expires_at.map(Moment))
    .bind(Moment(cluster.credentials.changed_at))
    .bind(cluster.revision)
    .bind(Moment(cluster.registered_at))
    .bind(Moment(cluster.updated_at))
    .execute(&mut *connection)
    .await
    .map_err(refused)?;
    sqlx::query("INSERT INTO cluster_credentials (cluster_id, sealed) VALUES ($1, $2)")
        .bind(cluster.id.0)
        .bind(sealed)
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    keep(connection, cluster.id, &cluster.health, cluster.uid.as_deref(), true, false).await
}

async fn access(
    connection: &mut PgConnection,
    id: ClusterId,
    version: i64,
    sealed: &[u8],
    server: &str,
    facts: CredentialFacts,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "UPDATE cluster_credentials SET sealed = $3, version = version + 1
         WHERE cluster_id = $1 AND version = $2",
    )
    .bind(id.0)
    .bind(version)
    .bind(sealed)
    .execute(&mut *connection)
    .await;
    changed(done)?;
    let done = sqlx::query(
        "UPDATE clusters SET api_server_url = $2, credential_kind = $3, credential_expires_at = $4,
             credential_changed_at = $5
         WHERE id = $1",
    )
    .bind(id.0)
    .bind(server)
    .bind(facts.kind.to_string())
    .bind(facts.expires_at.map(Moment))
    .bind(Moment(facts.changed_at))
    .execute(connection)
    .await;
    changed(done)
}

async fn keep(
    connection: &mut PgConnection,
    id: ClusterId,
    health: &ClusterHealth,
    uid: Option<&str>,
    is_change: bool,
    noted: bool,
) -> Result<(), StoreError> {
    let at = health.checked_at.map(Moment);
    let done = sqlx::query(
        "UPDATE clusters SET health_status = $2, health_reason = $3, health_since = $4, reachable = $5,
             latency_ms = $6, last_health_check_at = $7, kubernetes_version = $8, nodes_ready = $9,
             nodes_not_ready = $10, uid = coalesce(uid, $11),
             access_noted_at = CASE WHEN $12 THEN $7 ELSE access_noted_at END
         WHERE id = $1",
    )
    .bind(id.0)
    .bind(health.status.to_string())
    .bind(&health.reason)
    .bind(health.since.map(Moment))
    .bind(health.reachable)
    .bind(health.latency_ms.map(count))
    .bind(at)
    .bind(&health.kubernetes_version)
    .bind(count(health.nodes.ready))
    .bind(count(health.nodes.not_ready))
    .bind(uid)
    .bind(noted)
    .execute(&mut *connection)
    .await;
    changed(done)?;
    let Some(at) = at else { return Ok(()) };
    sqlx::query(
        "INSERT INTO cluster_health_history (cluster_id, at, status, reason, latency_ms, changed)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id.0)
    .bind(at)
    .bind(health.status.to_string())
    .bind(&health.reason)
    .bind(health.latency_ms.map(count))
    .bind(is_change)
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

async fn thin(connection: &mut PgConnection, id: ClusterId, before: Timestamp) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM cluster_health_history WHERE cluster_id = $1 AND at < $2 AND NOT changed")
        .bind(id.0)
        .bind(Moment(before))
        .execute(connection)
        .await
        .map(drop)
        .map_err(refused)
}
