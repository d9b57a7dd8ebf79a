//! Rows as what they are of.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::operator::{
    ChartSource, ChartVersion, Drift, Installation, InstallationState, Operator, Seen,
};
use slipway_domain::profile::Profile;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::KnownVersion;
use sqlx::postgres::PgRow;

use super::get;
use crate::postgres::Moment;

/// What this server does not understand was written by a newer one, or by hand.
fn strange(column: &str, error: impl Display) -> StoreError {
    StoreError::Other(format!("the column {column} of an operator cannot be read: {error}").into())
}

fn parsed<T: std::str::FromStr>(row: &PgRow, column: &str) -> Result<T, StoreError>
where
    T::Err: Display,
{
    get::<String>(row, column)?.parse().map_err(|error| strange(column, error))
}

fn maybe<T: std::str::FromStr>(row: &PgRow, column: &str) -> Result<Option<T>, StoreError>
where
    T::Err: Display,
{
    let text = get::<Option<String>>(row, column)?;
    text.map(|text| text.parse().map_err(|error| strange(column, error))).transpose()
}

fn at(row: &PgRow, column: &str) -> Result<Timestamp, StoreError> {
    Ok(get::<Moment>(row, column)?.0)
}

fn maybe_at(row: &PgRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<Moment>>(row, column)?.map(|moment| moment.0))
}

pub(super) fn operator(row: &PgRow) -> Result<Operator, StoreError> {
    let labels = serde_json::from_value(get(row, "labels")?).map_err(|error| strange("labels", error))?;
    let default_values = serde_json::from_value(get(row, "default_values")?)
        .map_err(|error| strange("default_values", error))?;
    let profile = get::<Option<Value>>(row, "profile")?
        .map(|profile| Profile::parse(&profile).map_err(|error| strange("profile", error)))
        .transpose()?;
    Ok(Operator {
        id: OperatorId(get(row, "id")?),
        name: parsed(row, "name")?,
        description: get(row, "description")?,
        namespace: parsed(row, "namespace")?,
        chart: ChartSource {
            repository: parsed(row, "chart_repository")?,
            chart: parsed(row, "chart_name")?,
        },
        current_version: maybe(row, "current_version")?,
        latest_version: maybe(row, "latest_version")?,
        crd_names: get(row, "crd_names")?,
        labels,
        default_values,
        profile,
        has_credentials: get(row, "has_credentials")?,
        authority: get(row, "authority")?,
        deployed_clusters: u32::try_from(get::<i64>(row, "deployed_clusters")?).unwrap_or(u32::MAX),
        checked_at: maybe_at(row, "checked_at")?,
        check_error: get(row, "check_error")?,
        created_at: at(row, "created_at")?,
        updated_at: at(row, "updated_at")?,
        revision: get(row, "revision")?,
    })
}

pub(super) fn known_version(row: &PgRow) -> Result<KnownVersion, StoreError> {
    Ok(KnownVersion {
        offered: ChartVersion {
            version: parsed(row, "version")?,
            app_version: get(row, "app_version")?,
            released_at: maybe_at(row, "released_at")?,
            deprecated: get(row, "deprecated")?,
            changelog_url: get(row, "changelog_url")?,
            digest: get(row, "digest")?,
        },
        first_seen_at: at(row, "first_seen_at")?,
        withdrawn_at: maybe_at(row, "withdrawn_at")?,
        archive: get(row, "archive_digest")?,
        crds_recorded_at: maybe_at(row, "crds_recorded_at")?,
    })
}

pub(super) fn installation(row: &PgRow) -> Result<Installation, StoreError> {
    Ok(Installation {
        cluster_id: ClusterId(get(row, "cluster_id")?),
        operator_id: get::<Option<_>>(row, "operator_id")?.map(OperatorId),
        seen: Seen {
            namespace: get(row, "namespace")?,
            release: get(row, "release")?,
            chart: get(row, "chart")?,
            version: get(row, "version")?,
            app_version: get(row, "app_version")?,
            revision: u32::try_from(get::<i64>(row, "revision")?).unwrap_or(u32::MAX),
            state: InstallationState::of_word(&get::<String>(row, "state")?),
            managed_by: parsed(row, "managed_by")?,
            manager_reference: get(row, "manager_reference")?,
            deployed_at: maybe_at(row, "deployed_at")?,
        },
        first_seen_at: at(row, "first_seen_at")?,
        seen_at: at(row, "seen_at")?,
        adopted_at: maybe_at(row, "adopted_at")?,
        adopted_by: get(row, "adopted_by")?,
        drift: get::<Option<sqlx::types::Json<Drift>>>(row, "drift")?.map(|json| json.0),
        drift_checked_at: maybe_at(row, "drift_checked_at")?,
    })
}
