//! Operators, their versions and charts, and where they are installed.

mod apply;
mod rows;

use async_trait::async_trait;
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::name::Name;
use slipway_domain::operator::{Installation, Operator};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{KnownVersion, OperatorFilter, OperatorRows, Sealed, SealedPlace};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder, Row as _};

use super::PostgresStore;
use super::error::refused;
use rows::{installation, known_version, operator};

pub(super) use apply::apply;

/// An operator with what is counted and looked up beside it.
const OPERATORS: &str = "SELECT *, \
     EXISTS (SELECT 1 FROM operator_credentials c WHERE c.operator_id = o.id) AS has_credentials, \
     (SELECT count(DISTINCT i.cluster_id) FROM installations i WHERE i.operator_id = o.id) AS deployed_clusters \
     FROM operators o";

const INSTALLATIONS: &str = "SELECT cluster_id, namespace, release, operator_id, chart, version, app_version, \
     revision, state, managed_by, manager_reference, deployed_at, first_seen_at, seen_at, adopted_at, adopted_by, \
     drift, drift_checked_at \
     FROM installations";

#[async_trait]
impl OperatorRows for PostgresStore {
    async fn operator_by_name(&self, name: &Name) -> Result<Option<Operator>, StoreError> {
        let mut query = QueryBuilder::new(OPERATORS);
        query.push(" WHERE o.name = ").push_bind(name.as_str().to_owned());
        one(query.build().fetch_optional(self.pool()).await)
    }

    async fn operator(&self, id: OperatorId) -> Result<Option<Operator>, StoreError> {
        let mut query = QueryBuilder::new(OPERATORS);
        query.push(" WHERE o.id = ").push_bind(id.0);
        one(query.build().fetch_optional(self.pool()).await)
    }

    async fn operators(&self, filter: &OperatorFilter, window: Window) -> Result<Page<Operator>, StoreError> {
        // How many there are comes with each row: one way to the database and back.
        let mut query = QueryBuilder::new("WITH counted AS (SELECT count(*) AS total FROM operators o");
        filtered(&mut query, filter);
        query.push(") ").push(OPERATORS).push(" CROSS JOIN counted");
        filtered(&mut query, filter);
        query.push(" ORDER BY o.name LIMIT ").push_bind(i64::from(window.limit));
        query.push(" OFFSET ").push_bind(i64::try_from(window.offset).unwrap_or(i64::MAX));
        let rows = query.build().fetch_all(self.pool()).await.map_err(refused)?;
        let total: i64 = match rows.first() {
            Some(row) => get(row, "total")?,
            None if window.offset == 0 => 0,
            // Beyond the last one.
            None => {
                let mut count = QueryBuilder::new("SELECT count(*) FROM operators o");
                filtered(&mut count, filter);
                count.build_query_scalar().fetch_one(self.pool()).await.map_err(refused)?
            }
        };
        let items = rows.iter().map(operator).collect::<Result<_, _>>()?;
        Ok(Page { items, total: u64::try_from(total).unwrap_or(0), window })
    }

    async fn all_operators(&self) -> Result<Vec<Operator>, StoreError> {
        let mut query = QueryBuilder::<Postgres>::new(OPERATORS);
        query.push(" ORDER BY o.name");
        let rows = query.build().fetch_all(self.pool()).await.map_err(refused)?;
        rows.iter().map(operator).collect()
    }

    async fn operator_credentials(&self, id: OperatorId) -> Result<Option<Sealed>, StoreError> {
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT sealed FROM operator_credentials WHERE operator_id = $1")
                .bind(id.0)
                .fetch_optional(self.pool())
                .await
                .map_err(refused)?;
        Ok(sealed.map(Sealed))
    }

    async fn operator_versions(&self, id: OperatorId) -> Result<Vec<KnownVersion>, StoreError> {
        let rows = sqlx::query(
            "SELECT version, app_version, released_at, deprecated, changelog_url, digest, archive_digest, \
             crds_recorded_at, first_seen_at, withdrawn_at \
             FROM operator_versions WHERE operator_id = $1 ORDER BY version_order DESC, version DESC",
        )
        .bind(id.0)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        rows.iter().map(known_version).collect()
    }

    async fn chart_archive(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        sqlx::query_scalar("SELECT bytes FROM chart_archives WHERE digest = $1")
            .bind(digest)
            .fetch_optional(self.pool())
            .await
            .map_err(refused)
    }

    async fn installations(
        &self,
        cluster: Option<ClusterId>,
        operator: Option<OperatorId>,
    ) -> Result<Vec<Installation>, StoreError> {
        let mut query = QueryBuilder::<Postgres>::new(INSTALLATIONS);
        query.push(" WHERE true");
        if let Some(cluster) = cluster {
            query.push(" AND cluster_id = ").push_bind(cluster.0);
        }
        if let Some(operator) = operator {
            query.push(" AND operator_id = ").push_bind(operator.0);
        }
        query.push(" ORDER BY cluster_id, namespace, release");
        let rows = query.build().fetch_all(self.pool()).await.map_err(refused)?;
        rows.iter().map(installation).collect()
    }

    async fn clusters_with_unclaimed(&self, chart: &str) -> Result<Vec<ClusterId>, StoreError> {
        let found: Vec<uuid::Uuid> = sqlx::query_scalar(
            "SELECT DISTINCT cluster_id FROM installations WHERE chart = $1 AND operator_id IS NULL",
        )
        .bind(chart)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        Ok(found.into_iter().map(ClusterId).collect())
    }

    async fn sealed_of_operators(&self) -> Result<Vec<SealedPlace>, StoreError> {
        let credentials: Vec<uuid::Uuid> = sqlx::query_scalar("SELECT operator_id FROM operator_credentials")
            .fetch_all(self.pool())
            .await
            .map_err(refused)?;
        let values: Vec<(uuid::Uuid, String, String)> = sqlx::query_as(
            "SELECT cluster_id, namespace, release FROM installations WHERE values_sealed IS NOT NULL",
        )
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        let credentials = credentials.into_iter().map(|id| SealedPlace::Credentials(OperatorId(id)));
        let values = values.into_iter().map(|(cluster, namespace, release)| SealedPlace::Values {
            cluster: ClusterId(cluster),
            namespace,
            release,
        });
        Ok(credentials.chain(values).collect())
    }

    async fn installation_values(
        &self,
        cluster: ClusterId,
        namespace: &str,
        release: &str,
    ) -> Result<Option<Sealed>, StoreError> {
        let sealed: Option<Option<Vec<u8>>> = sqlx::query_scalar(
            "SELECT values_sealed FROM installations WHERE cluster_id = $1 AND namespace = $2 AND release = $3",
        )
        .bind(cluster.0)
        .bind(namespace)
        .bind(release)
        .fetch_optional(self.pool())
        .await
        .map_err(refused)?;
        Ok(sealed.flatten().map(Sealed))
    }
}

fn one(row: Result<Option<PgRow>, sqlx::Error>) -> Result<Option<Operator>, StoreError> {
    row.map_err(refused)?.as_ref().map(operator).transpose()
}

fn filtered(query: &mut QueryBuilder<Postgres>, filter: &OperatorFilter) {
    query.push(" WHERE true");
    if let Some(namespace) = &filter.namespace {
        query.push(" AND o.namespace = ").push_bind(namespace.clone());
    }
    for (key, value) in &filter.labels {
        query.push(" AND o.labels @> ").push_bind(serde_json::json!({ key: value }));
    }
    if let Some(has_update) = filter.has_update {
        query.push(" AND COALESCE(o.latest_order > o.current_order, false) = ").push_bind(has_update);
    }
}

/// A value of a row, with its column's name in the error.
fn get<'r, T>(row: &'r PgRow, column: &str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres>,
{
    row.try_get(column).map_err(refused)
}
