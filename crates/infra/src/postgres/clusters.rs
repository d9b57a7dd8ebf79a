//! Clusters, their credentials and health.

mod write;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::cluster::{Cluster, ClusterHealth, CredentialFacts, Labels, NodeCount, State};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{ClusterFilter, ClusterRows, ClusterSample, SealedAccess};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder, Row as _};
use uuid::Uuid;

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

pub(super) use write::apply;

const COLUMNS: &str = "id, name, description, environment, labels, api_server_url, uid, is_enabled, \
     health_status, health_reason, health_since, reachable, latency_ms, last_health_check_at, \
     kubernetes_version, nodes_ready, nodes_not_ready, credential_kind, credential_expires_at, \
     credential_changed_at, revision, registered_at, updated_at FROM clusters";

/// A word that is read back into its type.
fn word<T: std::str::FromStr>(row: &PgRow, column: &str) -> Result<T, sqlx::Error>
where
    T::Err: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|error: T::Err| sqlx::Error::Decode(error.into()))
}

fn moment(row: &PgRow, column: &str) -> Result<Option<Timestamp>, sqlx::Error> {
    Ok(row.try_get::<Option<Moment>, _>(column)?.map(Timestamp::from))
}

fn count(row: &PgRow, column: &str) -> Result<u32, sqlx::Error> {
    Ok(row.try_get::<i32, _>(column)?.unsigned_abs())
}

fn latency(row: &PgRow) -> Result<Option<u32>, sqlx::Error> {
    Ok(row.try_get::<Option<i32>, _>("latency_ms")?.map(i32::unsigned_abs))
}

fn read(row: &PgRow) -> Result<Cluster, sqlx::Error> {
    let Json(labels): Json<Labels> = row.try_get("labels")?;
    let state = if row.try_get("is_enabled")? { State::Enabled } else { State::Disabled };
    Ok(Cluster {
        id: ClusterId(row.try_get("id")?),
        name: word(row, "name")?,
        description: row.try_get("description")?,
        environment: word(row, "environment")?,
        labels,
        server: row.try_get("api_server_url")?,
        uid: row.try_get("uid")?,
        state,
        health: ClusterHealth {
            status: word(row, "health_status")?,
            reason: row.try_get("health_reason")?,
            kubernetes_version: row.try_get("kubernetes_version")?,
            nodes: NodeCount { ready: count(row, "nodes_ready")?, not_ready: count(row, "nodes_not_ready")? },
            reachable: row.try_get("reachable")?,
            latency_ms: latency(row)?,
            checked_at: moment(row, "last_health_check_at")?,
            since: moment(row, "health_since")?,
        },
        credentials: CredentialFacts {
            kind: word(row, "credential_kind")?,
            expires_at: moment(row, "credential_expires_at")?,
            changed_at: row.try_get::<Moment, _>("credential_changed_at")?.0,
        },
        revision: row.try_get("revision")?,
        registered_at: row.try_get::<Moment, _>("registered_at")?.0,
        updated_at: row.try_get::<Moment, _>("updated_at")?.0,
    })
}

/// Adds the conditions.
fn narrow(query: &mut QueryBuilder<Postgres>, filter: &ClusterFilter) {
    query.push(" WHERE true");
    if let Some(environment) = filter.environment {
        query.push(" AND environment = ").push_bind(environment.to_string());
    }
    if let Some(health) = filter.health {
        query.push(" AND health_status = ").push_bind(health.to_string());
    }
    if let Some(state) = filter.state {
        query.push(" AND is_enabled = ").push_bind(state == State::Enabled);
    }
    for (key, value) in &filter.labels {
        let wanted = serde_json::json!({ key.as_str(): value });
        query.push(" AND labels @> ").push_bind(Json(wanted));
    }
}

#[async_trait]
impl ClusterRows for PostgresStore {
    async fn cluster(&self, id: ClusterId) -> Result<Option<Cluster>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" WHERE id = ").push_bind(id.0);
        query.build().try_map(|row: PgRow| read(&row)).fetch_optional(&self.pool).await.map_err(refused)
    }

    async fn cluster_by_name(&self, name: &Name) -> Result<Option<Cluster>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" WHERE name = ").push_bind(name.as_str().to_owned());
        query.build().try_map(|row: PgRow| read(&row)).fetch_optional(&self.pool).await.map_err(refused)
    }

    async fn cluster_with_uid(&self, uid: &str) -> Result<Option<Name>, StoreError> {
        sqlx::query("SELECT name FROM clusters WHERE uid = $1 ORDER BY registered_at LIMIT 1")
            .bind(uid)
            .try_map(|row: PgRow| word(&row, "name"))
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn clusters(&self, filter: &ClusterFilter, window: Window) -> Result<Page<Cluster>, StoreError> {
        // How many there are comes with each row: one way to the database and back.
        let mut query = QueryBuilder::new("WITH counted AS (SELECT count(*) AS total FROM clusters");
        narrow(&mut query, filter);
        query.push(") SELECT total, ").push(COLUMNS).push(" CROSS JOIN counted");
        narrow(&mut query, filter);
        // In the order that rollouts take, which is not that of the alphabet.
        query.push(
            " ORDER BY array_position(ARRAY['Development', 'Staging', 'Production'], environment), name",
        );
        query.push(" LIMIT ").push_bind(i64::from(window.limit));
        query.push(" OFFSET ").push_bind(i64::try_from(window.offset).unwrap_or(i64::MAX));
        let rows = query.build().fetch_all(&self.pool).await.map_err(refused)?;
        let total: i64 = match rows.first() {
            Some(row) => row.try_get("total").map_err(refused)?,
            None if window.offset == 0 => 0,
            // Beyond the last one.
            None => {
                let mut query = QueryBuilder::new("SELECT count(*) FROM clusters");
                narrow(&mut query, filter);
                query.build_query_scalar().fetch_one(&self.pool).await.map_err(refused)?
            }
        };
        let items = rows.iter().map(read).collect::<Result<_, _>>().map_err(refused)?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn cluster_access(&self, id: ClusterId) -> Result<Option<SealedAccess>, StoreError> {
        let found: Option<(Vec<u8>, i64)> =
            sqlx::query_as("SELECT sealed, version FROM cluster_credentials WHERE cluster_id = $1")
                .bind(id.0)
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
        Ok(found.map(|(sealed, version)| SealedAccess { sealed, version }))
    }

    async fn cluster_access_version(&self, id: ClusterId) -> Result<Option<i64>, StoreError> {
        sqlx::query_scalar("SELECT version FROM cluster_credentials WHERE cluster_id = $1")
            .bind(id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn cluster_history(&self, id: ClusterId, most: u32) -> Result<Vec<ClusterSample>, StoreError> {
        sqlx::query(
            "SELECT at, status, reason, latency_ms, changed FROM cluster_health_history
             WHERE cluster_id = $1 ORDER BY at DESC, id DESC LIMIT $2",
        )
        .bind(id.0)
        .bind(i64::from(most))
        .try_map(|row: PgRow| {
            Ok(ClusterSample {
                at: row.try_get::<Moment, _>("at")?.0,
                status: word(&row, "status")?,
                reason: row.try_get("reason")?,
                latency_ms: latency(&row)?,
                changed: row.try_get("changed")?,
            })
        })
        .fetch_all(&self.pool)
        .await
        .map_err(refused)
    }

    async fn cluster_access_noted(&self, id: ClusterId) -> Result<Option<Timestamp>, StoreError> {
        let noted: Option<Option<Moment>> =
            sqlx::query_scalar("SELECT access_noted_at FROM clusters WHERE id = $1")
                .bind::<Uuid>(id.0)
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
        Ok(noted.flatten().map(Timestamp::from))
    }
}
