//! Rollouts, and what is recorded of them.

mod apply;
mod rows;

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::preflight::Preflight;
use slipway_domain::rollout::{ActKey, FORMAT, Measurement, Observation, Report};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{
    Excerpt, Recorded, Rollout, RolloutFilter, RolloutNews, RolloutRows, Sealed, StepRow,
};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;
use rows::{command, content, get, key, news, rollout, step, text, word};

pub(super) use apply::apply;

const ROLLOUTS: &str = "SELECT id, operator_id, format, state, placements, previous_version, started_by, \
     started_by_id, emergency, may_delete, trace, created_at, started_at, ended_at, version";

/// Those that have not ended.
const ACTIVE: &str = "status NOT IN ('Completed', 'RolledBack', 'Failed', 'Cancelled')";

#[async_trait]
impl RolloutRows for PostgresStore {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        let now: Moment =
            sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(self.pool()).await.map_err(refused)?;
        Ok(now.0)
    }

    async fn rollout(&self, id: RolloutId) -> Result<Option<Rollout>, StoreError> {
        let mut query = QueryBuilder::<Postgres>::new(ROLLOUTS);
        query.push(" FROM rollouts WHERE id = ").push_bind(id.0);
        let row = query.build().fetch_optional(self.pool()).await.map_err(refused)?;
        row.as_ref().map(rollout).transpose()
    }

    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError> {
        // The large parts are left out here: what all clusters of a large fleet are takes long to send and to read.
        let row = sqlx::query(
            "SELECT id, operator_id, format, previous_version, started_by, started_by_id, emergency, may_delete,
                 trace, created_at, started_at, ended_at, version,
                 jsonb_set(
                     (state - ARRAY['clusters', 'waves', 'agreed']) || jsonb_build_object('waves', '[]'::jsonb,
                         'agreed', '[]'::jsonb, 'clusters', jsonb_build_object($2, state #> ARRAY['clusters', $2])),
                     '{spec,targets}',
                     jsonb_path_query_array(state, '$.spec.targets[*] ? (@.cluster == $name)',
                         jsonb_build_object('name', $2))
                 ) AS state,
                 jsonb_build_object($2, placements -> $2) AS placements
             FROM rollouts WHERE id = $1 AND targets @> ARRAY[$2]",
        );
        let row = row.bind(id.0).bind(cluster.as_str()).fetch_optional(self.pool()).await.map_err(refused)?;
        Ok(row.as_ref().map(rollout).transpose()?.map(Excerpt::of_row))
    }

    async fn rollouts_like(&self, beginning: &str) -> Result<Vec<RolloutId>, StoreError> {
        let Some((first, last)) = between(beginning) else { return Ok(Vec::new()) };
        let found: Vec<Uuid> =
            sqlx::query_scalar("SELECT id FROM rollouts WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT 3")
                .bind(first)
                .bind(last)
                .fetch_all(self.pool())
                .await
                .map_err(refused)?;
        Ok(found.into_iter().map(RolloutId).collect())
    }

    async fn rollouts(&self, filter: &RolloutFilter, window: Window) -> Result<Page<Rollout>, StoreError> {
        let mut count = QueryBuilder::new("SELECT count(*) FROM rollouts");
        filtered(&mut count, filter);
        let total: i64 = count.build_query_scalar().fetch_one(self.pool()).await.map_err(refused)?;
        let mut query = QueryBuilder::new(ROLLOUTS);
        query.push(" FROM rollouts");
        filtered(&mut query, filter);
        query.push(" ORDER BY created_at DESC, id LIMIT ").push_bind(i64::from(window.limit));
        query.push(" OFFSET ").push_bind(i64::try_from(window.offset).unwrap_or(i64::MAX));
        let rows = query.build().fetch_all(self.pool()).await.map_err(refused)?;
        let items = rows.iter().map(rollout).collect::<Result<_, _>>()?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn recorded(&self, id: RolloutId) -> Result<Recorded, StoreError> {
        // Each is a read of its own: what is written between them is seen by the next decision, and one that
        // was made on an older state is refused by its version.
        let reports = sqlx::query(
            "SELECT s.cluster, s.kind, s.attempt, s.outcome FROM rollouts r
             JOIN rollout_steps s ON s.rollout_id = r.id AND s.key = ANY (r.open_steps)
             WHERE r.id = $1 AND s.outcome IS NOT NULL ORDER BY s.number",
        );
        let reports = reports.bind(id.0).fetch_all(self.pool()).await.map_err(refused)?;
        let looks =
            sqlx::query("SELECT cluster, observation FROM rollout_observations WHERE rollout_id = $1");
        let looks = looks.bind(id.0).fetch_all(self.pool()).await.map_err(refused)?;
        let answers = sqlx::query("SELECT gate, measurement FROM rollout_measurements WHERE rollout_id = $1");
        let answers = answers.bind(id.0).fetch_all(self.pool()).await.map_err(refused)?;
        let commands = sqlx::query(
            "SELECT c.number, c.by, c.command FROM rollouts r
             JOIN rollout_commands c ON c.rollout_id = r.id AND c.number > r.followed
             WHERE r.id = $1 ORDER BY c.number",
        );
        let commands = commands.bind(id.0).fetch_all(self.pool()).await.map_err(refused)?;
        let report = |row| Ok(Report { key: key(row)?, outcome: content(row, "outcome")? });
        let look = |row| Ok((word::<Name>(row, "cluster")?, content::<Observation>(row, "observation")?));
        let answer = |row| Ok((get::<String>(row, "gate")?, content::<Measurement>(row, "measurement")?));
        Ok(Recorded {
            reports: reports.iter().map(report).collect::<Result<_, StoreError>>()?,
            observations: looks.iter().map(look).collect::<Result<_, StoreError>>()?,
            measurements: answers.iter().map(answer).collect::<Result<_, StoreError>>()?,
            commands: commands.iter().map(command).collect::<Result<_, StoreError>>()?,
        })
    }

    async fn step(&self, id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM rollout_steps WHERE rollout_id = $1 AND key = $2")
            .bind(id.0)
            .bind(key.to_string())
            .fetch_optional(self.pool())
            .await
            .map_err(refused)?;
        row.as_ref().map(step).transpose()
    }

    async fn steps(&self, id: RolloutId) -> Result<Vec<StepRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM rollout_steps WHERE rollout_id = $1 ORDER BY number")
            .bind(id.0)
            .fetch_all(self.pool())
            .await
            .map_err(refused)?;
        rows.iter().map(step).collect()
    }

    async fn preflights(&self, id: RolloutId) -> Result<BTreeMap<Name, Preflight>, StoreError> {
        let rows = sqlx::query("SELECT cluster, preflight FROM rollout_preflights WHERE rollout_id = $1")
            .bind(id.0)
            .fetch_all(self.pool())
            .await
            .map_err(refused)?;
        rows.iter().map(|row| Ok((word(row, "cluster")?, content(row, "preflight")?))).collect()
    }

    async fn snapshot(&self, id: RolloutId, cluster: &Name) -> Result<Option<Sealed>, StoreError> {
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT sealed FROM rollout_snapshots WHERE rollout_id = $1 AND cluster = $2")
                .bind(id.0)
                .bind(cluster.as_str())
                .fetch_optional(self.pool())
                .await
                .map_err(refused)?;
        Ok(sealed.map(Sealed))
    }

    async fn rollout_values(&self, id: RolloutId) -> Result<Option<Sealed>, StoreError> {
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT sealed FROM rollout_values WHERE rollout_id = $1")
                .bind(id.0)
                .fetch_optional(self.pool())
                .await
                .map_err(refused)?;
        Ok(sealed.map(Sealed))
    }

    async fn reservations(
        &self,
        operator: OperatorId,
        clusters: &[ClusterId],
    ) -> Result<Vec<(ClusterId, RolloutId)>, StoreError> {
        let wanted: Vec<Uuid> = clusters.iter().map(|cluster| cluster.0).collect();
        let held: Vec<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT cluster_id, rollout_id FROM rollout_reservations
             WHERE operator_id = $1 AND cluster_id = ANY ($2) ORDER BY cluster_id",
        )
        .bind(operator.0)
        .bind(wanted)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        Ok(held.into_iter().map(|(cluster, rollout)| (ClusterId(cluster), RolloutId(rollout))).collect())
    }

    async fn rollouts_of(&self, operator: OperatorId) -> Result<Vec<RolloutId>, StoreError> {
        let held: Vec<Uuid> = sqlx::query_scalar(
            "SELECT DISTINCT rollout_id FROM rollout_reservations WHERE operator_id = $1 ORDER BY rollout_id",
        )
        .bind(operator.0)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        Ok(held.into_iter().map(RolloutId).collect())
    }

    async fn rollouts_on(&self, cluster: ClusterId) -> Result<Vec<RolloutId>, StoreError> {
        let held: Vec<Uuid> = sqlx::query_scalar(
            "SELECT DISTINCT rollout_id FROM rollout_reservations WHERE cluster_id = $1 ORDER BY rollout_id",
        )
        .bind(cluster.0)
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        Ok(held.into_iter().map(RolloutId).collect())
    }

    async fn active_rollouts(&self) -> Result<u64, StoreError> {
        let mut query = QueryBuilder::<Postgres>::new("SELECT count(*) FROM rollouts WHERE ");
        let count: i64 =
            query.push(ACTIVE).build_query_scalar().fetch_one(self.pool()).await.map_err(refused)?;
        Ok(count.unsigned_abs())
    }

    async fn rollout_news(
        &self,
        id: RolloutId,
        after: i64,
        most: u32,
    ) -> Result<Vec<RolloutNews>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, at, kind, cluster, text FROM rollout_news
             WHERE rollout_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        )
        .bind(id.0)
        .bind(after)
        .bind(i64::from(most))
        .fetch_all(self.pool())
        .await
        .map_err(refused)?;
        rows.iter().map(news).collect()
    }

    async fn completed_before(
        &self,
        operator: OperatorId,
        cluster: &Name,
        than: RolloutId,
    ) -> Result<Option<RolloutId>, StoreError> {
        let found: Option<Uuid> = sqlx::query_scalar(
            "SELECT id FROM rollouts
             WHERE operator_id = $1 AND targets @> ARRAY[$2] AND id <> $3 AND status = 'Completed'
             ORDER BY ended_at DESC NULLS LAST, created_at DESC LIMIT 1",
        )
        .bind(operator.0)
        .bind(cluster.as_str())
        .bind(than.0)
        .fetch_optional(self.pool())
        .await
        .map_err(refused)?;
        Ok(found.map(RolloutId))
    }
}

/// The first and the last id that begin so; nothing where no id can.
fn between(beginning: &str) -> Option<(Uuid, Uuid)> {
    let digits: String = beginning.chars().filter(|c| *c != '-').collect();
    if digits.len() > 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let filled = |with: &str| Uuid::try_parse(&format!("{digits}{}", with.repeat(32 - digits.len()))).ok();
    filled("0").zip(filled("f"))
}

/// What an older server cannot read it leaves out of lists; it is still counted where nothing is read of it.
fn filtered(query: &mut QueryBuilder<Postgres>, filter: &RolloutFilter) {
    query.push(" WHERE format <= ").push_bind(i64::from(FORMAT));
    if let Some(status) = filter.status {
        query.push(" AND status = ").push_bind(status.to_string());
    }
    if let Some(operator) = &filter.operator {
        query.push(" AND operator = ").push_bind(text(operator));
    }
    if let Some(cluster) = &filter.cluster {
        query.push(" AND targets @> ").push_bind(vec![text(cluster)]);
    }
    if let Some(strategy) = filter.strategy {
        query.push(" AND strategy = ").push_bind(strategy.to_string());
    }
    if let Some(environment) = filter.environment {
        query.push(" AND environments @> ").push_bind(vec![environment.to_string()]);
    }
    if let Some(name) = &filter.started_by {
        query.push(" AND started_by = ").push_bind(text(name));
    }
    if let Some(active) = filter.active {
        query.push(" AND (").push(ACTIVE).push(") = ").push_bind(active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_by_its_first_digits() {
        let (first, last) = between("550e8400-E2").unwrap();
        assert_eq!(first.to_string(), "550e8400-e200-0000-0000-000000000000");
        assert_eq!(last.to_string(), "550e8400-e2ff-ffff-ffff-ffffffffffff");
        let whole = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(between(whole).map(|(first, last)| first == last), Some(true));
        assert_eq!(between("x"), None);
        assert_eq!(between(&"0".repeat(33)), None);
    }
}
