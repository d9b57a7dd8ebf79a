//! Changes of the rows.

use jiff::Timestamp;
use slipway_domain::crd::{CrdApproval, StoredCrd};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;
use slipway_domain::version::Version;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{CrdHistory, CrdWrite, LiveCrd, NewCrd};
use sqlx::PgConnection;

use crate::postgres::error::refused;
use crate::postgres::moment::Moment;

pub(in crate::postgres) async fn apply(
    connection: &mut PgConnection,
    write: CrdWrite,
) -> Result<(), StoreError> {
    match write {
        CrdWrite::Record { operator, operator_version, revision, whole, crds, changed, history } => {
            advance(connection, &operator, revision).await?;
            if whole {
                note_whole(connection, &operator, &operator_version).await?;
            }
            // One row of a chain is current: the old one stops being it before the new one is.
            for crd in changed.iter().filter(|crd| !crd.current) {
                update(connection, crd).await?;
            }
            for new in crds.iter().filter(|new| !new.crd.current) {
                insert(connection, new).await?;
            }
            for crd in changed.iter().filter(|crd| crd.current) {
                update(connection, crd).await?;
            }
            for new in crds.iter().filter(|new| new.crd.current) {
                insert(connection, new).await?;
            }
            for history in &history {
                replace(connection, &operator, history).await?;
            }
            Ok(())
        }
        CrdWrite::Decide { operator, revision, crds } => {
            advance(connection, &operator, revision).await?;
            for crd in &crds {
                update(connection, crd).await?;
            }
            Ok(())
        }
        CrdWrite::Forget { operator } => {
            sqlx::query("DELETE FROM crd_operators WHERE operator_name = $1")
                .bind(operator.as_str())
                .execute(connection)
                .await
                .map_err(refused)?;
            Ok(())
        }
        CrdWrite::Seen { cluster, at, crds } => seen(connection, cluster, at, &crds).await,
        CrdWrite::Unseen { cluster, failure } => {
            sqlx::query(
                "INSERT INTO crd_looks (cluster_id, failure) VALUES ($1, $2)
                 ON CONFLICT (cluster_id) DO UPDATE SET failure = EXCLUDED.failure",
            )
            .bind(cluster.0)
            .bind(failure)
            .execute(connection)
            .await
            .map_err(refused)?;
            Ok(())
        }
        other => Err(StoreError::Other(format!("{other:?} is not known here").into())),
    }
}

/// Moves an operator's revision on, if it is the one that was read; the row stays locked.
async fn advance(connection: &mut PgConnection, operator: &Name, revision: i64) -> Result<(), StoreError> {
    let query = if revision == 0 {
        sqlx::query("INSERT INTO crd_operators (operator_name) VALUES ($1) ON CONFLICT DO NOTHING")
            .bind(operator.as_str())
    } else {
        sqlx::query(
            "UPDATE crd_operators SET revision = revision + 1 WHERE operator_name = $1 AND revision = $2",
        )
        .bind(operator.as_str())
        .bind(revision)
    };
    match query.execute(connection).await.map_err(refused)?.rows_affected() {
        0 => Err(StoreError::Stale { what: format!("what is stored of the CRDs of {operator}") }),
        _ => Ok(()),
    }
}

async fn note_whole(
    connection: &mut PgConnection,
    operator: &Name,
    version: &Version,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO crd_recordings (operator_name, operator_version) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    )
    .bind(operator.as_str())
    .bind(version.as_str())
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

fn approved(crd: &StoredCrd) -> (Option<&str>, Option<Moment>) {
    match &crd.approval {
        CrdApproval::Approved { by, at } => (Some(by), Some(Moment(*at))),
        CrdApproval::NotRequired | CrdApproval::Pending => (None, None),
    }
}

async fn update(connection: &mut PgConnection, crd: &StoredCrd) -> Result<(), StoreError> {
    let (by, at) = approved(crd);
    sqlx::query(
        "UPDATE crds SET schema_version = $2, step = $3, status = $4, approval_status = $5, approved_by = $6,
             approved_at = $7, deprecated_at = $8, deprecation_reason = $9, migration_guide = $10,
             removed_in = $11, current = $12
         WHERE crd_id = $1",
    )
    .bind(crd.id.0)
    .bind(crd.schema_version.to_string())
    .bind(crd.step.to_string())
    .bind(crd.status().to_string())
    .bind(crd.approval.as_str())
    .bind(by)
    .bind(at)
    .bind(crd.deprecation.as_ref().map(|deprecation| Moment(deprecation.at)))
    .bind(crd.deprecation.as_ref().map(|deprecation| deprecation.reason.as_str()))
    .bind(crd.deprecation.as_ref().and_then(|deprecation| deprecation.migration_guide.as_deref()))
    .bind(crd.removed_in.as_ref().map(Version::as_str))
    .bind(crd.current)
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

async fn insert(connection: &mut PgConnection, new: &NewCrd) -> Result<(), StoreError> {
    let crd = &new.crd;
    sqlx::query(
        "INSERT INTO crds (crd_id, name, \"group\", versions, scope, operator_name, operator_version,
             schema_definition, content_hash, schema_version, step, status, approval_status, current, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', 'First', 'Active', 'NotRequired', false, $10)
         ON CONFLICT (crd_id) DO UPDATE SET \"group\" = EXCLUDED.\"group\", versions = EXCLUDED.versions,
             scope = EXCLUDED.scope, schema_definition = EXCLUDED.schema_definition,
             content_hash = EXCLUDED.content_hash, created_at = EXCLUDED.created_at",
    )
    .bind(crd.id.0)
    .bind(&crd.name)
    .bind(&crd.group)
    .bind(&crd.versions)
    .bind(&crd.scope)
    .bind(crd.operator.as_str())
    .bind(crd.operator_version.as_str())
    .bind(&new.definition)
    .bind(crd.content.to_string())
    .bind(Moment(crd.recorded_at))
    .execute(&mut *connection)
    .await
    .map_err(refused)?;
    update(connection, crd).await
}

/// The numbers of a version in an order that PostgreSQL can compare: a pre-release comes before its release.
fn version_order(version: &Version) -> Vec<i64> {
    let semantic = version.semantic();
    [semantic.major, semantic.minor, semantic.patch, u64::from(!version.is_prerelease())]
        .map(|number| i64::try_from(number).unwrap_or(i64::MAX))
        .to_vec()
}

async fn replace(
    connection: &mut PgConnection,
    operator: &Name,
    history: &CrdHistory,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM crd_history WHERE operator_name = $1 AND name = $2 AND operator_version = $3")
        .bind(operator.as_str())
        .bind(&history.name)
        .bind(history.operator_version.as_str())
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    let order = version_order(&history.operator_version);
    for (place, change) in history.changes.iter().enumerate() {
        sqlx::query(
            "INSERT INTO crd_history (operator_name, name, operator_version, place, change_type, field_path,
                 previous_type, new_type, is_breaking, description, finding, severity, version_order, changed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(operator.as_str())
        .bind(&history.name)
        .bind(history.operator_version.as_str())
        .bind(i32::try_from(place).unwrap_or(i32::MAX))
        .bind(change.change_type.to_string())
        .bind(&change.field_path)
        .bind(&change.previous_type)
        .bind(&change.new_type)
        .bind(change.is_breaking)
        .bind(&change.description)
        .bind(&change.finding)
        .bind(&change.severity)
        .bind(&order)
        .bind(Moment(change.changed_at))
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    }
    Ok(())
}

async fn seen(
    connection: &mut PgConnection,
    cluster: ClusterId,
    at: Timestamp,
    crds: &[LiveCrd],
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO crd_looks (cluster_id, looked_at) VALUES ($1, $2)
         ON CONFLICT (cluster_id) DO UPDATE SET looked_at = EXCLUDED.looked_at, failure = NULL",
    )
    .bind(cluster.0)
    .bind(Moment(at))
    .execute(&mut *connection)
    .await
    .map_err(refused)?;
    let names: Vec<&str> = crds.iter().map(|crd| crd.name.as_str()).collect();
    sqlx::query("DELETE FROM live_crds WHERE cluster_id = $1 AND name <> ALL($2)")
        .bind(cluster.0)
        .bind(&names)
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    for crd in crds {
        sqlx::query(
            "INSERT INTO live_crd_definitions (content_hash, definition) VALUES ($1, $2)
             ON CONFLICT (content_hash) DO UPDATE SET definition = live_crd_definitions.definition",
        )
        .bind(crd.content.to_string())
        .bind(&crd.definition)
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
        sqlx::query(
            "INSERT INTO live_crds (cluster_id, name, content_hash, stored_versions, since)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (cluster_id, name) DO UPDATE SET
                 since = CASE WHEN live_crds.content_hash = EXCLUDED.content_hash THEN live_crds.since
                     ELSE EXCLUDED.since END,
                 content_hash = EXCLUDED.content_hash, stored_versions = EXCLUDED.stored_versions",
        )
        .bind(cluster.0)
        .bind(&crd.name)
        .bind(crd.content.to_string())
        .bind(&crd.stored_versions)
        .bind(Moment(at))
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    }
    drop_unused(connection).await
}

/// Forgets definitions that no cluster runs any more. Whoever adds one that is just being forgotten waits
/// for its row, and adds it again.
async fn drop_unused(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(
        "DELETE FROM live_crd_definitions WHERE content_hash IN (
             SELECT definition.content_hash FROM live_crd_definitions definition
             WHERE NOT EXISTS (SELECT FROM live_crds live WHERE live.content_hash = definition.content_hash)
             FOR UPDATE SKIP LOCKED)",
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}
