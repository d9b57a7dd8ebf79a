//! Policies, approval rules, windows and values.

use async_trait::async_trait;
use serde_json::Value;
use slipway_domain::document::Kind;
use slipway_domain::settings::Setting;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{SettingsRows, SettingsWrite, StoredSetting};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

fn read(row: &PgRow) -> Result<StoredSetting, sqlx::Error> {
    let kind: String = row.try_get("kind")?;
    let kind: Kind = kind.parse().map_err(|error: String| sqlx::Error::Decode(error.into()))?;
    let spec: Value = row.try_get("spec")?;
    let setting = Setting::read(kind, &spec)
        .ok_or_else(|| sqlx::Error::Decode(format!("{kind} is no setting").into()))?
        .map_err(|problems| sqlx::Error::Decode(problems.into()))?;
    Ok(StoredSetting {
        name: row.try_get("name")?,
        setting,
        revision: row.try_get("revision")?,
        updated_at: row.try_get::<Moment, _>("updated_at")?.0,
    })
}

pub(super) async fn apply(connection: &mut PgConnection, write: SettingsWrite) -> Result<(), StoreError> {
    let (what, done) = match write {
        SettingsWrite::Put { name, setting, revision: None, at } => {
            let query = sqlx::query(
                "INSERT INTO settings (kind, name, spec, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
                 ON CONFLICT DO NOTHING",
            );
            let query = query.bind(setting.kind().as_str()).bind(&name).bind(setting.spec()).bind(Moment(at));
            (told(setting.kind(), &name), query.execute(connection).await)
        }
        SettingsWrite::Put { name, setting, revision: Some(revision), at } => {
            let query = sqlx::query(
                "UPDATE settings SET spec = $3, updated_at = $4, revision = revision + 1
                 WHERE kind = $1 AND name = $2 AND revision = $5",
            );
            let query = query
                .bind(setting.kind().as_str())
                .bind(&name)
                .bind(setting.spec())
                .bind(Moment(at))
                .bind(revision);
            (told(setting.kind(), &name), query.execute(connection).await)
        }
        SettingsWrite::Remove { kind, name, revision } => {
            let query = sqlx::query("DELETE FROM settings WHERE kind = $1 AND name = $2 AND revision = $3");
            let query = query.bind(kind.as_str()).bind(&name).bind(revision);
            (told(kind, &name), query.execute(connection).await)
        }
        other => return Err(StoreError::Other(format!("{other:?} is not known here").into())),
    };
    match done.map_err(refused)?.rows_affected() {
        0 => Err(StoreError::Stale { what }),
        _ => Ok(()),
    }
}

fn told(kind: Kind, name: &str) -> String {
    format!("{kind} {name}")
}

#[async_trait]
impl SettingsRows for PostgresStore {
    async fn settings(&self, kind: Option<Kind>) -> Result<Vec<StoredSetting>, StoreError> {
        sqlx::query(
            "SELECT kind, name, spec, revision, updated_at FROM settings WHERE $1::text IS NULL OR kind = $1
             ORDER BY kind, name COLLATE \"C\"",
        )
        .bind(kind.map(Kind::as_str))
        .try_map(|row: PgRow| read(&row))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)
    }

    async fn setting(&self, kind: Kind, name: &str) -> Result<Option<StoredSetting>, StoreError> {
        sqlx::query(
            "SELECT kind, name, spec, revision, updated_at FROM settings WHERE kind = $1 AND name = $2",
        )
        .bind(kind.as_str())
        .bind(name)
        .try_map(|row: PgRow| read(&row))
        .fetch_optional(&self.pool)
        .await
        .map_err(refused)
    }
}
