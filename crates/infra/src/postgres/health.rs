//! The health of operators.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slipway_domain::health::{Baseline, Verdict};
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{
    HealthCount, HealthRecord, HealthRows, HealthSample, HealthWrite, Place,
};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{Moment, PostgresStore, refused};

pub(super) async fn apply(connection: &mut PgConnection, write: HealthWrite) -> Result<(), StoreError> {
    match write {
        HealthWrite::Watch(place) => {
            sqlx::query(
                "INSERT INTO operator_health (cluster_id, operator_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            )
            .bind(place.cluster.0)
            .bind(place.operator.0)
            .execute(connection)
            .await
            .map_err(refused)?;
        }
        HealthWrite::Record { record, sample } => record_check(connection, &record, &sample).await?,
        HealthWrite::Baseline(place, baseline) => {
            sqlx::query(
                "INSERT INTO operator_health_baselines (cluster_id, operator_id, taken_at, baseline)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (cluster_id, operator_id)
                 DO UPDATE SET taken_at = excluded.taken_at, baseline = excluded.baseline",
            )
            .bind(place.cluster.0)
            .bind(place.operator.0)
            .bind(Moment(baseline.at))
            .bind(json(&*baseline)?)
            .execute(connection)
            .await
            .map_err(refused)?;
        }
        HealthWrite::Forget(place) => {
            sqlx::query("DELETE FROM operator_health WHERE cluster_id = $1 AND operator_id = $2")
                .bind(place.cluster.0)
                .bind(place.operator.0)
                .execute(connection)
                .await
                .map_err(refused)?;
        }
        // The words may grow; what is not known here is a defect, not a thing to pass over.
        other => return Err(StoreError::Other(format!("{other:?} cannot be written").into())),
    }
    Ok(())
}

async fn record_check(
    connection: &mut PgConnection,
    record: &HealthRecord,
    sample: &HealthSample,
) -> Result<(), StoreError> {
    let place = record.place;
    let written = sqlx::query(
        "UPDATE operator_health SET verdict = $3, verdict_since = $4, health = $5, episode = $6,
             memory = $7, checked_at = $8
         WHERE cluster_id = $1 AND operator_id = $2",
    )
    .bind(place.cluster.0)
    .bind(place.operator.0)
    .bind(record.verdict().as_str())
    .bind(record.since.map(Moment))
    .bind(record.health.as_ref().map(json).transpose()?)
    .bind(json(&record.episode)?)
    .bind(json(&record.memory)?)
    .bind(record.health.as_ref().map(|health| Moment(health.checked_at)))
    .execute(&mut *connection)
    .await
    .map_err(refused)?;
    if written.rows_affected() == 0 {
        return Err(StoreError::Stale { what: "what is looked at on this cluster".to_owned() });
    }
    let pods = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    sqlx::query(
        "INSERT INTO operator_health_samples
             (cluster_id, operator_id, at, verdict, changed, reasons, ready_pods, expected_pods, error_rate)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (cluster_id, operator_id, at) DO NOTHING",
    )
    .bind(place.cluster.0)
    .bind(place.operator.0)
    .bind(Moment(sample.at))
    .bind(sample.verdict.as_str())
    .bind(sample.changed)
    .bind((!sample.reasons.is_empty()).then(|| json(&sample.reasons)).transpose()?)
    .bind(pods(sample.pods.0))
    .bind(pods(sample.pods.1))
    .bind(sample.error_rate)
    .execute(connection)
    .await
    .map_err(refused)?;
    Ok(())
}

#[async_trait]
impl HealthRows for PostgresStore {
    async fn operator_health(&self, place: Place) -> Result<Option<HealthRecord>, StoreError> {
        let row = sqlx::query(
            "SELECT cluster_id, operator_id, verdict_since, health, episode, memory
             FROM operator_health WHERE cluster_id = $1 AND operator_id = $2",
        )
        .bind(place.cluster.0)
        .bind(place.operator.0)
        .fetch_optional(self.pool())
        .await
        .map_err(refused)?;
        row.as_ref().map(record).transpose()
    }

    async fn operator_health_everywhere(
        &self,
        operator: OperatorId,
    ) -> Result<Vec<HealthRecord>, StoreError> {
        let rows = sqlx::query(
            "SELECT cluster_id, operator_id, verdict_since, health, episode, memory
             FROM operator_health WHERE operator_id = $1",
        )
        .bind(operator.0)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        rows.iter().map(record).collect()
    }

    async fn health_on_cluster(&self, cluster: ClusterId) -> Result<Vec<(OperatorId, Verdict)>, StoreError> {
        let rows = sqlx::query("SELECT operator_id, verdict FROM operator_health WHERE cluster_id = $1")
            .bind(cluster.0)
            .fetch_all(self.pool())
            .await
            .map_err(refused)?;
        rows.iter()
            .map(|row| Ok((OperatorId(row.try_get("operator_id").map_err(refused)?), verdict(row)?)))
            .collect()
    }

    async fn health_counts(&self) -> Result<Vec<HealthCount>, StoreError> {
        let rows = sqlx::query(
            "SELECT operator_id, verdict, count(*) AS clusters FROM operator_health
             GROUP BY operator_id, verdict",
        )
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        rows.iter()
            .map(|row| {
                let clusters: i64 = row.try_get("clusters").map_err(refused)?;
                Ok(HealthCount {
                    operator: OperatorId(row.try_get("operator_id").map_err(refused)?),
                    verdict: verdict(row)?,
                    clusters: u64::try_from(clusters).unwrap_or_default(),
                })
            })
            .collect()
    }

    async fn health_places(&self) -> Result<Vec<Place>, StoreError> {
        let rows = sqlx::query("SELECT cluster_id, operator_id FROM operator_health")
            .fetch_all(self.pool())
            .await
            .map_err(refused)?;
        rows.iter().map(place).collect()
    }

    async fn health_history(
        &self,
        place: Place,
        only_changes: bool,
        window: Window,
    ) -> Result<Page<HealthSample>, StoreError> {
        let total: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM operator_health_samples
             WHERE cluster_id = $1 AND operator_id = $2 AND (changed OR NOT $3)",
        )
        .bind(place.cluster.0)
        .bind(place.operator.0)
        .bind(only_changes)
        .fetch_one(self.pool())
        .await
        .map_err(refused)?;
        let rows = sqlx::query(
            "SELECT at, verdict, changed, reasons, ready_pods, expected_pods, error_rate
             FROM operator_health_samples
             WHERE cluster_id = $1 AND operator_id = $2 AND (changed OR NOT $3)
             ORDER BY at DESC LIMIT $4 OFFSET $5",
        )
        .bind(place.cluster.0)
        .bind(place.operator.0)
        .bind(only_changes)
        .bind(i64::from(window.limit))
        .bind(i64::try_from(window.offset).unwrap_or(i64::MAX))
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        let items = rows.iter().map(sample).collect::<Result<_, _>>()?;
        Ok(Page { items, total: u64::try_from(total).unwrap_or_default(), window })
    }

    async fn health_baseline(&self, place: Place) -> Result<Option<Baseline>, StoreError> {
        let row = sqlx::query(
            "SELECT baseline FROM operator_health_baselines WHERE cluster_id = $1 AND operator_id = $2",
        )
        .bind(place.cluster.0)
        .bind(place.operator.0)
        .fetch_optional(self.pool())
        .await
        .map_err(refused)?;
        row.as_ref().map(|row| unjson(row, "baseline")).transpose()
    }

    async fn thin_health(&self, before: Timestamp) -> Result<u64, StoreError> {
        // The first of each hour stays.
        let gone = sqlx::query(
            "DELETE FROM operator_health_samples AS sample
             WHERE NOT changed AND at < $1 AND EXISTS (
                 SELECT FROM operator_health_samples AS earlier
                 WHERE earlier.cluster_id = sample.cluster_id AND earlier.operator_id = sample.operator_id
                     AND earlier.at < sample.at
                     AND earlier.at >= date_trunc('hour', sample.at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')",
        )
        .bind(Moment(before))
        .execute(self.pool())
        .await
        .map_err(refused)?;
        Ok(gone.rows_affected())
    }
}

fn place(row: &PgRow) -> Result<Place, StoreError> {
    Ok(Place {
        cluster: ClusterId(row.try_get::<Uuid, _>("cluster_id").map_err(refused)?),
        operator: OperatorId(row.try_get::<Uuid, _>("operator_id").map_err(refused)?),
    })
}

fn record(row: &PgRow) -> Result<HealthRecord, StoreError> {
    let health: Option<Json<serde_json::Value>> = row.try_get("health").map_err(refused)?;
    Ok(HealthRecord {
        place: place(row)?,
        // A server of another version may have written what this one does not understand: it is as if
        // nobody had looked, and the next check writes it anew.
        health: health.and_then(|Json(value)| serde_json::from_value(value).ok()),
        since: row.try_get::<Option<Moment>, _>("verdict_since").map_err(refused)?.map(|moment| moment.0),
        episode: unjson(row, "episode").unwrap_or_default(),
        memory: unjson(row, "memory").unwrap_or_default(),
    })
}

fn sample(row: &PgRow) -> Result<HealthSample, StoreError> {
    let reasons: Option<Json<serde_json::Value>> = row.try_get("reasons").map_err(refused)?;
    let pods = |column: &str| {
        row.try_get::<i32, _>(column).map(|count| u32::try_from(count).unwrap_or_default()).map_err(refused)
    };
    Ok(HealthSample {
        at: row.try_get::<Moment, _>("at").map_err(refused)?.0,
        verdict: verdict(row)?,
        changed: row.try_get("changed").map_err(refused)?,
        reasons: reasons.and_then(|Json(value)| serde_json::from_value(value).ok()).unwrap_or_default(),
        pods: (pods("ready_pods")?, pods("expected_pods")?),
        error_rate: row.try_get("error_rate").map_err(refused)?,
    })
}

fn verdict(row: &PgRow) -> Result<Verdict, StoreError> {
    let text: String = row.try_get("verdict").map_err(refused)?;
    text.parse().map_err(|error: String| StoreError::Other(error.into()))
}

fn json(value: &impl Serialize) -> Result<Json<serde_json::Value>, StoreError> {
    serde_json::to_value(value).map(Json).map_err(|error| StoreError::Other(error.into()))
}

fn unjson<T: DeserializeOwned>(row: &PgRow, column: &str) -> Result<T, StoreError> {
    let Json(value): Json<serde_json::Value> = row.try_get(column).map_err(refused)?;
    serde_json::from_value(value).map_err(|error| StoreError::Other(error.into()))
}
