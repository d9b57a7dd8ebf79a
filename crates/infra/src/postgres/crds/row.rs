//! Rows as values.

use std::str::FromStr;

use slipway_domain::crd::{CrdApproval, CrdChange, Deprecation, StoredCrd};
use slipway_domain::id::CrdId;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::postgres::moment::Moment;

/// The columns of a schema, its text left out.
pub(super) const COLUMNS: &str = "crd_id, name, \"group\", versions, scope, operator_name, operator_version, \
    content_hash, schema_version, step, approval_status, approved_by, approved_at, deprecated_at, \
    deprecation_reason, migration_guide, removed_in, current, created_at";

/// A word of a row as what it stands for.
pub(super) fn parsed<T: FromStr>(text: &str) -> Result<T, sqlx::Error>
where
    T::Err: ToString,
{
    text.parse().map_err(|error: T::Err| {
        sqlx::Error::Decode(format!("{text:?} cannot be read: {}", error.to_string()).into())
    })
}

fn moment(row: &PgRow, column: &str) -> Result<Option<jiff::Timestamp>, sqlx::Error> {
    Ok(row.try_get::<Option<Moment>, _>(column)?.map(|at| at.0))
}

/// A schema.
pub(super) fn crd(row: &PgRow) -> Result<StoredCrd, sqlx::Error> {
    let approval: String = row.try_get("approval_status")?;
    let by: Option<String> = row.try_get("approved_by")?;
    let approval = match (approval.as_str(), by, moment(row, "approved_at")?) {
        ("NotRequired", ..) => CrdApproval::NotRequired,
        ("Approved", Some(by), Some(at)) => CrdApproval::Approved { by, at },
        _ => CrdApproval::Pending,
    };
    let reason: Option<String> = row.try_get("deprecation_reason")?;
    let deprecation = match (moment(row, "deprecated_at")?, reason) {
        (Some(at), Some(reason)) => {
            Some(Deprecation { at, reason, migration_guide: row.try_get("migration_guide")? })
        }
        _ => None,
    };
    Ok(StoredCrd {
        id: CrdId(row.try_get::<Uuid, _>("crd_id")?),
        name: row.try_get("name")?,
        group: row.try_get("group")?,
        versions: row.try_get("versions")?,
        scope: row.try_get("scope")?,
        operator: parsed(row.try_get::<&str, _>("operator_name")?)?,
        operator_version: parsed(row.try_get::<&str, _>("operator_version")?)?,
        content: parsed(row.try_get::<&str, _>("content_hash")?)?,
        schema_version: parsed(row.try_get::<&str, _>("schema_version")?)?,
        step: parsed(row.try_get::<&str, _>("step")?)?,
        approval,
        deprecation,
        removed_in: row.try_get::<Option<&str>, _>("removed_in")?.map(parsed).transpose()?,
        current: row.try_get("current")?,
        recorded_at: row.try_get::<Moment, _>("created_at")?.0,
    })
}

/// A line of a history.
pub(super) fn change(row: &PgRow) -> Result<CrdChange, sqlx::Error> {
    Ok(CrdChange {
        change_type: parsed(row.try_get::<&str, _>("change_type")?)?,
        field_path: row.try_get("field_path")?,
        previous_type: row.try_get("previous_type")?,
        new_type: row.try_get("new_type")?,
        is_breaking: row.try_get("is_breaking")?,
        description: row.try_get("description")?,
        finding: row.try_get("finding")?,
        severity: row.try_get("severity")?,
        operator_version: parsed(row.try_get::<&str, _>("operator_version")?)?,
        changed_at: row.try_get::<Moment, _>("changed_at")?.0,
    })
}
