//! Changes, inside the one transaction.

use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::{ActKey, Action, FORMAT, Measurement, Observation, Outcome, Status};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Happened, Rollout, RolloutWrite, Sealed};
use sqlx::PgConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::rows::{json, strange, text};
use crate::postgres::Moment;
use crate::postgres::error::refused;

type Statement<'q> = Query<'q, sqlx::Postgres, PgArguments>;

pub(in crate::postgres) async fn apply(
    connection: &mut PgConnection,
    write: RolloutWrite,
) -> Result<(), StoreError> {
    match write {
        RolloutWrite::Begin { rollout, values } => begin(connection, &rollout, values).await,
        RolloutWrite::Decide { rollout, news } => decide(connection, &rollout, &news).await,
        RolloutWrite::Intend { rollout, key, deadline } => intend(connection, rollout, &key, deadline).await,
        RolloutWrite::BeginStep { rollout, key, epoch } => begin_step(connection, rollout, &key, epoch).await,
        RolloutWrite::EndStep { rollout, key, outcome } => {
            end_step(connection, rollout, &key, &outcome).await
        }
        RolloutWrite::Observe { rollout, cluster, observation } => {
            observe(connection, rollout, &cluster, &observation).await
        }
        RolloutWrite::Measure { rollout, gate, measurement } => {
            measure(connection, rollout, &gate, &measurement).await
        }
        RolloutWrite::Preflight { rollout, cluster, preflight } => {
            let query = sqlx::query(
                "INSERT INTO rollout_preflights (rollout_id, cluster, preflight) VALUES ($1, $2, $3)
                 ON CONFLICT (rollout_id, cluster) DO UPDATE SET preflight = excluded.preflight",
            );
            run(connection, query.bind(rollout.0).bind(cluster.as_str()).bind(json(&preflight)?))
                .await
                .map(drop)
        }
        RolloutWrite::Keep { rollout, cluster, snapshot } => {
            let query = sqlx::query(
                "INSERT INTO rollout_snapshots (rollout_id, cluster, sealed) VALUES ($1, $2, $3)
                 ON CONFLICT (rollout_id, cluster) DO UPDATE SET sealed = excluded.sealed",
            );
            run(connection, query.bind(rollout.0).bind(cluster.as_str()).bind(snapshot.0)).await.map(drop)
        }
        RolloutWrite::Command { rollout, version, by, command } => {
            let number = next_command(connection, rollout, version).await?;
            let query = sqlx::query(
                "INSERT INTO rollout_commands (rollout_id, number, by, command) VALUES ($1, $2, $3, $4)",
            );
            run(connection, query.bind(rollout.0).bind(number).bind(text(&by)).bind(json(&command)?))
                .await
                .map(drop)
        }
        other => Err(StoreError::Other(format!("this server does not know how to write {other:?}").into())),
    }
}

/// Runs a statement; how many rows it changed.
async fn run(connection: &mut PgConnection, statement: Statement<'_>) -> Result<u64, StoreError> {
    statement.execute(connection).await.map(|done| done.rows_affected()).map_err(refused)
}

fn stale(id: RolloutId) -> StoreError {
    StoreError::Stale { what: format!("rollout {id}") }
}

/// What the row holds of the state beside the state itself.
struct Columns {
    status: String,
    state: Value,
    open: Vec<String>,
    followed: i64,
}

fn columns(rollout: &Rollout) -> Result<Columns, StoreError> {
    let state = &rollout.state;
    let key = |action| match action {
        Action::Act { key, .. } => Some(key.to_string()),
        _ => None,
    };
    Ok(Columns {
        status: state.status.to_string(),
        state: json(state)?,
        open: state.open().into_iter().filter_map(key).collect(),
        followed: i64::try_from(state.commands).map_err(|error| StoreError::Other(error.into()))?,
    })
}

fn format() -> Result<i32, StoreError> {
    i32::try_from(FORMAT).map_err(|error| StoreError::Other(error.into()))
}

async fn begin(connection: &mut PgConnection, rollout: &Rollout, values: Sealed) -> Result<(), StoreError> {
    let Columns { status, state, open, followed } = columns(rollout)?;
    let spec = &rollout.state.spec;
    let targets: Vec<&str> = spec.targets.iter().map(|target| target.cluster.as_str()).collect();
    let mut environments: Vec<String> =
        spec.targets.iter().map(|target| target.environment.to_string()).collect();
    environments.sort_unstable();
    environments.dedup();
    let query = sqlx::query(
        "INSERT INTO rollouts (id, operator_id, operator, target_version, previous_version, strategy, status,
             format, state, placements, targets, environments, open_steps, followed, started_by, started_by_id,
             emergency, may_delete, trace, created_at, started_at, ended_at, version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
             $22, $23)",
    )
    .bind(rollout.id.0)
    .bind(rollout.operator.0)
    .bind(spec.operator.as_str())
    .bind(spec.version.as_str())
    .bind(rollout.previous_version.as_ref().map(ToString::to_string))
    .bind(spec.settings.strategy.kind().to_string())
    .bind(status)
    .bind(format()?)
    .bind(state)
    .bind(json(&rollout.placements)?)
    .bind(targets)
    .bind(environments)
    .bind(open)
    .bind(followed)
    .bind(text(&rollout.starter.name))
    .bind(rollout.starter.person)
    .bind(rollout.emergency.as_deref().map(text))
    .bind(rollout.may_delete.iter().map(|object| text(object)).collect::<Vec<_>>())
    .bind(rollout.trace.as_deref().map(text))
    .bind(Moment(rollout.created_at))
    .bind(rollout.started_at.map(Moment))
    .bind(rollout.ended_at.map(Moment))
    .bind(rollout.version);
    run(connection, query).await?;
    let query = sqlx::query("INSERT INTO rollout_values (rollout_id, sealed) VALUES ($1, $2)");
    run(connection, query.bind(rollout.id.0).bind(values.0)).await?;
    if rollout.state.status.is_end() {
        return Ok(());
    }
    // A cluster that is gone is an error here: nothing may begin on it.
    let query = sqlx::query(
        "INSERT INTO rollout_reservations (cluster_id, operator_id, rollout_id)
         SELECT cluster, $2, $3 FROM unnest($1::uuid[]) AS cluster",
    );
    run(connection, query.bind(clusters(rollout)).bind(rollout.operator.0).bind(rollout.id.0)).await.map(drop)
}

/// The clusters, always in the same order: two rollouts that want the same ones wait for each other once.
fn clusters(rollout: &Rollout) -> Vec<Uuid> {
    let mut clusters: Vec<Uuid> = rollout.placements.values().map(|placement| placement.cluster.0).collect();
    clusters.sort_unstable();
    clusters.dedup();
    clusters
}

async fn decide(
    connection: &mut PgConnection,
    rollout: &Rollout,
    news: &[Happened],
) -> Result<(), StoreError> {
    let before: Option<String> =
        sqlx::query_scalar("SELECT status FROM rollouts WHERE id = $1 AND version = $2 FOR NO KEY UPDATE")
            .bind(rollout.id.0)
            .bind(rollout.version)
            .fetch_optional(&mut *connection)
            .await
            .map_err(refused)?;
    let before: Status =
        before.ok_or_else(|| stale(rollout.id))?.parse().map_err(|error| strange("status", error))?;
    let Columns { status, state, open, followed } = columns(rollout)?;
    let many = i64::try_from(news.len()).map_err(|error| StoreError::Other(error.into()))?;
    let last: i64 = sqlx::query_scalar(
        "UPDATE rollouts SET status = $2, format = $3, state = $4, open_steps = $5, followed = $6,
             started_at = $7, ended_at = $8, news_seq = news_seq + $9, version = version + 1
         WHERE id = $1 RETURNING news_seq",
    )
    .bind(rollout.id.0)
    .bind(status)
    .bind(format()?)
    .bind(state)
    .bind(open)
    .bind(followed)
    .bind(rollout.started_at.map(Moment))
    .bind(rollout.ended_at.map(Moment))
    .bind(many)
    .fetch_one(&mut *connection)
    .await
    .map_err(refused)?;
    add_news(connection, rollout.id, last - many, news).await?;
    match (before.is_end(), rollout.state.status.is_end()) {
        (false, true) => {
            let query = sqlx::query("DELETE FROM rollout_reservations WHERE rollout_id = $1");
            run(connection, query.bind(rollout.id.0)).await.map(drop)
        }
        (true, false) => reserve_again(connection, rollout).await,
        _ => Ok(()),
    }
}

/// Takes what it held before its end. A cluster that was removed since holds nothing back.
async fn reserve_again(connection: &mut PgConnection, rollout: &Rollout) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO rollout_reservations (cluster_id, operator_id, rollout_id)
         SELECT id, $2, $3 FROM clusters WHERE id = ANY ($1) ORDER BY id",
    );
    run(connection, query.bind(clusters(rollout)).bind(rollout.operator.0).bind(rollout.id.0)).await.map(drop)
}

/// Adds news after a number; whoever calls holds the rollout's row.
async fn add_news(
    connection: &mut PgConnection,
    id: RolloutId,
    after: i64,
    news: &[Happened],
) -> Result<(), StoreError> {
    if news.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(
        "INSERT INTO rollout_news (rollout_id, number, kind, cluster, text)
         SELECT $1, $2 + number, kind, cluster, text
         FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS n (kind, cluster, text, number)",
    )
    .bind(id.0)
    .bind(after)
    .bind(news.iter().map(|happened| text(&happened.kind)).collect::<Vec<_>>())
    .bind(news.iter().map(|happened| happened.cluster.as_ref().map(Name::as_str)).collect::<Vec<_>>())
    .bind(news.iter().map(|happened| text(&happened.text)).collect::<Vec<_>>());
    run(connection, query).await.map(drop)
}

async fn intend(
    connection: &mut PgConnection,
    id: RolloutId,
    key: &ActKey,
    deadline: Timestamp,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO rollout_steps (rollout_id, key, cluster, kind, attempt, deadline)
         VALUES ($1, $2, $3, $4 #>> '{}', $5, $6)",
    )
    .bind(id.0)
    .bind(key.to_string())
    .bind(key.cluster.as_str())
    .bind(json(&key.kind)?)
    .bind(i64::from(key.attempt))
    .bind(Moment(deadline));
    run(connection, query).await.map(drop)
}

async fn begin_step(
    connection: &mut PgConnection,
    id: RolloutId,
    key: &ActKey,
    epoch: i64,
) -> Result<(), StoreError> {
    // Epochs only grow: whoever lost the claim cannot begin after the one who has it.
    let query = sqlx::query(
        "UPDATE rollout_steps SET begun = $3, begun_at = coalesce(begun_at, clock_timestamp())
         WHERE rollout_id = $1 AND key = $2 AND outcome IS NULL AND (begun IS NULL OR begun <= $3)",
    );
    match run(connection, query.bind(id.0).bind(key.to_string()).bind(epoch)).await? {
        0 => Err(StoreError::Stale { what: format!("step {key} of rollout {id}") }),
        _ => Ok(()),
    }
}

/// The first word stands; a second one changes nothing.
async fn end_step(
    connection: &mut PgConnection,
    id: RolloutId,
    key: &ActKey,
    outcome: &Outcome,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "UPDATE rollout_steps SET outcome = coalesce(outcome, $3), ended_at = coalesce(ended_at, clock_timestamp())
         WHERE rollout_id = $1 AND key = $2",
    );
    match run(connection, query.bind(id.0).bind(key.to_string()).bind(json(outcome)?)).await? {
        0 => Err(StoreError::Stale { what: format!("step {key} of rollout {id}, which nobody intended,") }),
        _ => Ok(()),
    }
}

async fn observe(
    connection: &mut PgConnection,
    id: RolloutId,
    cluster: &Name,
    observation: &Observation,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO rollout_observations (rollout_id, cluster, at, observation) VALUES ($1, $2, $3, $4)
         ON CONFLICT (rollout_id, cluster) DO UPDATE SET at = excluded.at, observation = excluded.observation
         WHERE excluded.at >= rollout_observations.at",
    );
    let query = query.bind(id.0).bind(cluster.as_str()).bind(Moment(observation.at)).bind(json(observation)?);
    run(connection, query).await.map(drop)
}

async fn measure(
    connection: &mut PgConnection,
    id: RolloutId,
    gate: &str,
    measurement: &Measurement,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO rollout_measurements (rollout_id, gate, at, measurement) VALUES ($1, $2, $3, $4)
         ON CONFLICT (rollout_id, gate) DO UPDATE SET at = excluded.at, measurement = excluded.measurement
         WHERE excluded.at >= rollout_measurements.at",
    );
    let query = query.bind(id.0).bind(text(gate)).bind(Moment(measurement.at)).bind(json(measurement)?);
    run(connection, query).await.map(drop)
}

/// The next number, if the row still has that version. The version stays: a command that comes while somebody
/// decides must not undo the decision.
async fn next_command(connection: &mut PgConnection, id: RolloutId, version: i64) -> Result<i64, StoreError> {
    let number: Option<i64> = sqlx::query_scalar(
        "UPDATE rollouts SET command_seq = command_seq + 1 WHERE id = $1 AND version = $2 RETURNING command_seq",
    )
    .bind(id.0)
    .bind(version)
    .fetch_optional(connection)
    .await
    .map_err(refused)?;
    number.ok_or_else(|| stale(id))
}
