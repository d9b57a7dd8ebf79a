//! Rows as what they are of, and back.

use std::fmt::Display;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_domain::approval::Starter;
use slipway_domain::id::{OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::rollout::{ActKey, FORMAT, Numbered};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Rollout, RolloutNews, StepRow};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, Row as _};

use crate::postgres::Moment;
use crate::postgres::error::refused;

/// A value of a row, with its column's name in the error.
pub(super) fn get<'r, T>(row: &'r PgRow, column: &str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres>,
{
    row.try_get(column).map_err(refused)
}

/// What this server does not understand was written by a newer one, or by hand.
pub(super) fn strange(column: &str, error: impl Display) -> StoreError {
    StoreError::Other(format!("the column {column} of a rollout cannot be read: {error}").into())
}

/// A column that holds JSON, as what it stands for.
pub(super) fn content<T: DeserializeOwned>(row: &PgRow, column: &str) -> Result<T, StoreError> {
    serde_json::from_value(get(row, column)?).map_err(|error| strange(column, error))
}

pub(super) fn word<T: std::str::FromStr<Err: Display>>(row: &PgRow, column: &str) -> Result<T, StoreError> {
    get::<String>(row, column)?.parse().map_err(|error| strange(column, error))
}

pub(super) fn at(row: &PgRow, column: &str) -> Result<Timestamp, StoreError> {
    Ok(get::<Moment>(row, column)?.0)
}

fn maybe_at(row: &PgRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<Moment>>(row, column)?.map(|moment| moment.0))
}

/// Text that PostgreSQL can hold. What clusters say may hold a NUL, and an outcome that cannot be written would
/// be tried again for ever.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "␀")
}

/// JSON that PostgreSQL can hold.
pub(super) fn json(content: &impl Serialize) -> Result<Value, StoreError> {
    let mut value = serde_json::to_value(content).map_err(|error| StoreError::Other(error.into()))?;
    without_nul(&mut value);
    Ok(value)
}

fn without_nul(value: &mut Value) {
    match value {
        Value::String(held) if held.contains('\0') => *held = text(held),
        Value::Array(items) => items.iter_mut().for_each(without_nul),
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains('\0')) {
                let held = std::mem::take(fields);
                fields.extend(held.into_iter().map(|(key, value)| (text(&key), value)));
            }
            fields.values_mut().for_each(without_nul);
        }
        _ => {}
    }
}

/// A whole rollout, if this server understands its format.
pub(super) fn rollout(row: &PgRow) -> Result<Rollout, StoreError> {
    let id = RolloutId(get(row, "id")?);
    let format: i32 = get(row, "format")?;
    if i64::from(format) > i64::from(FORMAT) {
        let told = format!(
            "rollout {id} has format {format}, and this server knows {FORMAT}: a newer server goes on with it"
        );
        return Err(StoreError::Other(told.into()));
    }
    let previous: Option<String> = get(row, "previous_version")?;
    let previous = previous.map(|text| text.parse().map_err(|error| strange("previous_version", error)));
    Ok(Rollout {
        id,
        operator: OperatorId(get(row, "operator_id")?),
        state: content(row, "state")?,
        placements: content(row, "placements")?,
        previous_version: previous.transpose()?,
        starter: Starter { person: get(row, "started_by_id")?, name: get(row, "started_by")? },
        emergency: get(row, "emergency")?,
        may_delete: get(row, "may_delete")?,
        trace: get(row, "trace")?,
        created_at: at(row, "created_at")?,
        started_at: maybe_at(row, "started_at")?,
        ended_at: maybe_at(row, "ended_at")?,
        version: get(row, "version")?,
    })
}

pub(super) fn key(row: &PgRow) -> Result<ActKey, StoreError> {
    let kind: String = get(row, "kind")?;
    let attempt: i64 = get(row, "attempt")?;
    Ok(ActKey {
        cluster: word(row, "cluster")?,
        kind: serde_json::from_value(kind.into()).map_err(|error| strange("kind", error))?,
        attempt: u32::try_from(attempt).map_err(|error| strange("attempt", error))?,
    })
}

pub(super) fn step(row: &PgRow) -> Result<StepRow, StoreError> {
    let outcome: Option<Value> = get(row, "outcome")?;
    let outcome = outcome.map(|outcome| serde_json::from_value(outcome).map_err(|e| strange("outcome", e)));
    Ok(StepRow {
        key: key(row)?,
        intended_at: at(row, "intended_at")?,
        deadline: at(row, "deadline")?,
        begun: get(row, "begun")?,
        begun_at: maybe_at(row, "begun_at")?,
        outcome: outcome.transpose()?,
        ended_at: maybe_at(row, "ended_at")?,
    })
}

pub(super) fn command(row: &PgRow) -> Result<Numbered, StoreError> {
    let number: i64 = get(row, "number")?;
    Ok(Numbered { number: number.unsigned_abs(), by: get(row, "by")?, command: content(row, "command")? })
}

pub(super) fn news(row: &PgRow) -> Result<RolloutNews, StoreError> {
    let cluster: Option<String> = get(row, "cluster")?;
    let cluster = cluster.map(|name| name.parse::<Name>().map_err(|error| strange("cluster", error)));
    Ok(RolloutNews {
        number: get(row, "number")?,
        at: at(row, "at")?,
        kind: get(row, "kind")?,
        cluster: cluster.transpose()?,
        text: get(row, "text")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn what_the_database_cannot_hold_is_replaced() {
        let odd = json!({ "a\0": ["b\0c", { "d": "\0" }], "e": 1 });
        let kept = super::json(&odd).unwrap();
        assert_eq!(kept, json!({ "a␀": ["b␀c", { "d": "␀" }], "e": 1 }));
    }
}
