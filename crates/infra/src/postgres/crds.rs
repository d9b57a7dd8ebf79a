//! Schemas of CRDs, their history, and what clusters run.

mod row;
mod write;

use async_trait::async_trait;
use slipway_domain::crd::{ContentHash, CrdChange, StoredCrd};
use slipway_domain::id::{ClusterId, CrdId};
use slipway_domain::name::Name;
use slipway_domain::version::Version;
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{CrdFilter, CrdRows, OperatorCrds, SeenContent, SeenCrd};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder, Row as _};
use uuid::Uuid;

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;
use super::transaction::begin;
use row::{COLUMNS, change, crd, parsed};

pub(super) use write::apply;

/// Adds the conditions of a filter after those that are there.
fn narrow(query: &mut QueryBuilder<Postgres>, filter: &CrdFilter) {
    query.push(" WHERE current");
    if let Some(operator) = &filter.operator {
        query.push(" AND operator_name = ").push_bind(operator.clone());
    }
    if let Some(status) = filter.status {
        query.push(" AND status = ").push_bind(status.to_string());
    }
}

fn offset(window: Window) -> i64 {
    i64::try_from(window.offset).unwrap_or(i64::MAX)
}

fn seen(row: &PgRow) -> Result<SeenCrd, sqlx::Error> {
    let content: Option<&str> = row.try_get("content_hash")?;
    let found = match content {
        None => None,
        Some(content) => Some(SeenContent {
            content: parsed::<ContentHash>(content)?,
            stored_versions: row.try_get("stored_versions")?,
            since: row.try_get::<Moment, _>("since")?.0,
        }),
    };
    Ok(SeenCrd {
        cluster: ClusterId(row.try_get::<Uuid, _>("cluster_id")?),
        looked_at: row.try_get::<Option<Moment>, _>("looked_at")?.map(|at| at.0),
        failure: row.try_get("failure")?,
        found,
    })
}

#[async_trait]
impl CrdRows for PostgresStore {
    async fn crds(&self, filter: &CrdFilter, window: Window) -> Result<Page<StoredCrd>, StoreError> {
        let mut count = QueryBuilder::new("SELECT count(*) FROM crds");
        narrow(&mut count, filter);
        let total: i64 = count.build_query_scalar().fetch_one(&self.pool).await.map_err(refused)?;
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM crds");
        narrow(&mut query, filter);
        query.push(" ORDER BY name COLLATE \"C\", operator_name COLLATE \"C\" LIMIT ");
        query.push_bind(i64::from(window.limit)).push(" OFFSET ").push_bind(offset(window));
        let items =
            query.build().try_map(|row: PgRow| crd(&row)).fetch_all(&self.pool).await.map_err(refused)?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn crd_versions(&self, name: &str) -> Result<Vec<StoredCrd>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM crds WHERE name = ").push_bind(name.to_owned());
        query.push(" ORDER BY operator_name COLLATE \"C\", created_at, operator_version");
        query.build().try_map(|row: PgRow| crd(&row)).fetch_all(&self.pool).await.map_err(refused)
    }

    async fn operator_crds(&self, operator: &Name) -> Result<OperatorCrds, StoreError> {
        // One transaction, one moment: what is read belongs to the revision.
        let mut transaction = begin(&self.pool).await?;
        sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .execute(&mut *transaction)
            .await
            .map_err(refused)?;
        let revision: Option<i64> =
            sqlx::query_scalar("SELECT revision FROM crd_operators WHERE operator_name = $1")
                .bind(operator.as_str())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(refused)?;
        let mut query = QueryBuilder::<Postgres>::new("SELECT ");
        query.push(COLUMNS).push(" FROM crds WHERE operator_name = ").push_bind(operator.as_str().to_owned());
        query.push(" ORDER BY name COLLATE \"C\", created_at, operator_version");
        let crds = query
            .build()
            .try_map(|row: PgRow| crd(&row))
            .fetch_all(&mut *transaction)
            .await
            .map_err(refused)?;
        let whole: Vec<Version> =
            sqlx::query("SELECT operator_version FROM crd_recordings WHERE operator_name = $1")
                .bind(operator.as_str())
                .try_map(|row: PgRow| parsed(row.try_get::<&str, _>(0)?))
                .fetch_all(&mut *transaction)
                .await
                .map_err(refused)?;
        transaction.commit().await.map_err(refused)?;
        Ok(OperatorCrds { revision: revision.unwrap_or_default(), crds, whole })
    }

    async fn crd_definition(&self, id: CrdId) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("SELECT schema_definition FROM crds WHERE crd_id = $1")
            .bind(id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn crd_history(
        &self,
        operator: &Name,
        name: &str,
        window: Window,
    ) -> Result<Page<CrdChange>, StoreError> {
        let total: i64 =
            sqlx::query_scalar("SELECT count(*) FROM crd_history WHERE operator_name = $1 AND name = $2")
                .bind(operator.as_str())
                .bind(name)
                .fetch_one(&self.pool)
                .await
                .map_err(refused)?;
        let items = sqlx::query(
            "SELECT change_type, field_path, previous_type, new_type, is_breaking, description, finding,
                 severity, operator_version, changed_at
             FROM crd_history WHERE operator_name = $1 AND name = $2
             ORDER BY version_order DESC, operator_version DESC, place LIMIT $3 OFFSET $4",
        )
        .bind(operator.as_str())
        .bind(name)
        .bind(i64::from(window.limit))
        .bind(offset(window))
        .try_map(|row: PgRow| change(&row))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn crd_names(&self) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar("SELECT DISTINCT name COLLATE \"C\" AS name FROM crds ORDER BY 1")
            .fetch_all(&self.pool)
            .await
            .map_err(refused)
    }

    async fn seen_crd(&self, name: &str) -> Result<Vec<SeenCrd>, StoreError> {
        sqlx::query(
            "SELECT look.cluster_id, look.looked_at, look.failure, live.content_hash, live.stored_versions,
                 live.since
             FROM crd_looks look
             LEFT JOIN live_crds live ON live.cluster_id = look.cluster_id AND live.name = $1",
        )
        .bind(name)
        .try_map(|row: PgRow| seen(&row))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)
    }

    async fn live_definition(&self, content: ContentHash) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("SELECT definition FROM live_crd_definitions WHERE content_hash = $1")
            .bind(content.to_string())
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }
}
