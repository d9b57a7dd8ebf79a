//! Approvals and what people decided.

use async_trait::async_trait;
use slipway_domain::approval::{Approval, Decision, Level, PlanHash, Starter, Subject};
use slipway_domain::id::{ApprovalId, RolloutId};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{ApprovalFilter, ApprovalRows, ApprovalWrite};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

pub(super) async fn apply(connection: &mut PgConnection, write: ApprovalWrite) -> Result<(), StoreError> {
    match write {
        ApprovalWrite::Ask(approval) => {
            insert(connection, &approval).await?;
            add_decisions(connection, &approval).await
        }
        ApprovalWrite::Change(approval) => {
            update(connection, &approval).await?;
            add_decisions(connection, &approval).await
        }
        other => Err(StoreError::Other(format!("no rows are kept for {other:?}").into())),
    }
}

async fn insert(connection: &mut PgConnection, approval: &Approval) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO approvals (id, kind, rollout_id, operator, target_version, environment, plan_hash, because,
             started_by, started_by_id, levels, four_eyes, created_at, expires_at, status, ended_at,
             lapsed_because, version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
    )
    .bind(approval.id.0)
    .bind(approval.kind.to_string())
    .bind(approval.subject.rollout.0)
    .bind(approval.subject.operator.as_str())
    .bind(approval.subject.target_version.as_str())
    .bind(approval.subject.environment.to_string())
    .bind(approval.subject.plan.as_str())
    .bind(&approval.because)
    .bind(&approval.starter.name)
    .bind(approval.starter.person)
    .bind(Json(&approval.levels))
    .bind(approval.four_eyes)
    .bind(Moment(approval.created_at))
    .bind(Moment(approval.expires_at))
    .bind(approval.status.to_string())
    .bind(approval.ended_at.map(Moment))
    .bind(&approval.lapsed_because)
    .bind(approval.version)
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

async fn update(connection: &mut PgConnection, approval: &Approval) -> Result<(), StoreError> {
    let changed = sqlx::query(
        "UPDATE approvals SET status = $3, ended_at = $4, lapsed_because = $5, version = version + 1
         WHERE id = $1 AND version = $2",
    )
    .bind(approval.id.0)
    .bind(approval.version)
    .bind(approval.status.to_string())
    .bind(approval.ended_at.map(Moment))
    .bind(&approval.lapsed_because)
    .execute(connection)
    .await
    .map_err(refused)?;
    if changed.rows_affected() == 0 {
        return Err(StoreError::Stale { what: format!("approval {}", approval.id) });
    }
    Ok(())
}

/// Adds the decisions that are not there yet; whoever calls holds the approval's row.
async fn add_decisions(connection: &mut PgConnection, approval: &Approval) -> Result<(), StoreError> {
    for (number, decision) in approval.decisions.iter().enumerate() {
        sqlx::query(
            "INSERT INTO approval_decisions (approval_id, number, level, person, name, verdict, note, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (approval_id, number) DO NOTHING",
        )
        .bind(approval.id.0)
        .bind(count(number)?)
        .bind(count(decision.level)?)
        .bind(decision.person)
        .bind(&decision.name)
        .bind(decision.verdict.to_string())
        .bind(decision.note.as_ref().map(slipway_domain::approval::Note::as_str))
        .bind(Moment(decision.at))
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    }
    Ok(())
}

fn count(number: usize) -> Result<i32, StoreError> {
    i32::try_from(number).map_err(|error| StoreError::Other(error.into()))
}

/// A query of whole approvals: what people decided comes in the same read, so that both fit together.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, kind, rollout_id, operator, target_version, environment, plan_hash, because,
                 started_by, started_by_id, levels, four_eyes, created_at, expires_at, status, ended_at,
                 lapsed_because, version,
                 (SELECT coalesce(jsonb_agg(jsonb_build_object('person', person, 'name', name, 'level', level,
                      'verdict', verdict, 'note', note, 'at', at) ORDER BY number), '[]')
                  FROM approval_decisions WHERE approval_id = approvals.id) AS decisions
             FROM approvals ",
            $rest
        )
    };
}

#[async_trait]
impl ApprovalRows for PostgresStore {
    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreError> {
        let row = sqlx::query(select!("WHERE id = $1"))
            .bind(id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)?;
        row.as_ref().map(read).transpose()
    }

    async fn approvals(&self, filter: &ApprovalFilter, window: Window) -> Result<Page<Approval>, StoreError> {
        let status = filter.status.map(|status| status.to_string());
        let kind = filter.kind.map(|kind| kind.to_string());
        let environment = filter.environment.map(|environment| environment.to_string());
        let total: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM approvals
             WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR kind = $2)
                 AND ($3::text IS NULL OR environment = $3) AND ($4::text IS NULL OR operator = $4)",
        )
        .bind(&status)
        .bind(&kind)
        .bind(&environment)
        .bind(&filter.operator)
        .fetch_one(&self.pool)
        .await
        .map_err(refused)?;
        let rows = sqlx::query(select!(
            "WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR kind = $2)
                 AND ($3::text IS NULL OR environment = $3) AND ($4::text IS NULL OR operator = $4)
             ORDER BY created_at DESC, id LIMIT $5 OFFSET $6"
        ))
        .bind(&status)
        .bind(&kind)
        .bind(&environment)
        .bind(&filter.operator)
        .bind(i64::from(window.limit))
        .bind(i64::try_from(window.offset).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)?;
        let items = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Page { items, total: total.unsigned_abs(), window })
    }

    async fn pending_approvals(&self) -> Result<Vec<Approval>, StoreError> {
        let rows = sqlx::query(select!("WHERE status = 'Pending' ORDER BY created_at, id"))
            .fetch_all(&self.pool)
            .await
            .map_err(refused)?;
        rows.iter().map(read).collect()
    }

    async fn approvals_of(&self, rollout: RolloutId) -> Result<Vec<Approval>, StoreError> {
        let rows = sqlx::query(select!("WHERE rollout_id = $1 ORDER BY created_at, id"))
            .bind(rollout.0)
            .fetch_all(&self.pool)
            .await
            .map_err(refused)?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<Approval, StoreError> {
    let text = |column: &str| row.try_get::<String, _>(column).map_err(refused);
    Ok(Approval {
        id: ApprovalId(row.try_get("id").map_err(refused)?),
        kind: word(&text("kind")?)?,
        subject: Subject {
            rollout: RolloutId(row.try_get("rollout_id").map_err(refused)?),
            operator: word(&text("operator")?)?,
            target_version: word(&text("target_version")?)?,
            environment: word(&text("environment")?)?,
            plan: PlanHash::new(text("plan_hash")?),
        },
        because: text("because")?,
        starter: Starter {
            person: row.try_get("started_by_id").map_err(refused)?,
            name: text("started_by")?,
        },
        levels: row.try_get::<Json<Vec<Level>>, _>("levels").map_err(refused)?.0,
        four_eyes: row.try_get("four_eyes").map_err(refused)?,
        created_at: row.try_get::<Moment, _>("created_at").map_err(refused)?.0,
        expires_at: row.try_get::<Moment, _>("expires_at").map_err(refused)?.0,
        status: word(&text("status")?)?,
        ended_at: row.try_get::<Option<Moment>, _>("ended_at").map_err(refused)?.map(|at| at.0),
        lapsed_because: row.try_get("lapsed_because").map_err(refused)?,
        decisions: row.try_get::<Json<Vec<Decision>>, _>("decisions").map_err(refused)?.0,
        version: row.try_get("version").map_err(refused)?,
    })
}

/// A column's text as what it stands for.
fn word<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|error| StoreError::Other(format!("{text:?} in a row of approvals: {error}").into()))
}
