//! Changes, inside the one transaction.

use jiff::Timestamp;
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::operator::{ChartVersion, Operator, Seen};
use slipway_domain::version::Version;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{OperatorWrite, Sealed, SealedPlace};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use crate::postgres::Moment;
use crate::postgres::error::refused;

/// How many rows one statement inserts; a statement takes 65,535 parameters.
const ROWS: usize = 1000;

pub(in crate::postgres) async fn apply(
    connection: &mut PgConnection,
    write: OperatorWrite,
) -> Result<(), StoreError> {
    match write {
        OperatorWrite::Add { operator, credentials } => {
            add(connection, &operator).await?;
            seal(connection, operator.id, credentials).await
        }
        OperatorWrite::Change { operator, revision, credentials } => {
            change(connection, &operator, revision).await?;
            match credentials {
                Some(credentials) => seal(connection, operator.id, credentials).await,
                None => Ok(()),
            }
        }
        OperatorWrite::Remove { id } => {
            run(sqlx::query("DELETE FROM operators WHERE id = $1").bind(id.0), connection).await
        }
        OperatorWrite::Offer { id, versions, latest, at } => {
            offer(connection, id, versions, latest, at).await
        }
        OperatorWrite::OfferUnknown { id, reason, at } => {
            let query = sqlx::query("UPDATE operators SET checked_at = $2, check_error = $3 WHERE id = $1");
            run(query.bind(id.0).bind(Moment(at)).bind(reason), connection).await
        }
        OperatorWrite::CrdNames { id, names } => {
            // What somebody named meanwhile stays.
            let query = sqlx::query("UPDATE operators SET crd_names = $2 WHERE id = $1 AND crd_names = '{}'");
            run(query.bind(id.0).bind(names), connection).await
        }
        OperatorWrite::CrdsRecorded { id, version, at } => {
            let query = sqlx::query(
                "UPDATE operator_versions SET crds_recorded_at = $3 WHERE operator_id = $1 AND version_order = $2",
            );
            run(query.bind(id.0).bind(version.order()).bind(Moment(at)), connection).await
        }
        OperatorWrite::Reseal { place, before, sealed } => reseal(connection, place, &before, &sealed).await,
        OperatorWrite::Archive { id, version, digest, bytes } => {
            archive(connection, id, &version, &digest, bytes).await
        }
        OperatorWrite::Seen { cluster, operator, seen, values, at } => {
            see(connection, cluster, operator, &seen, values, at).await
        }
        OperatorWrite::Drift { cluster, namespace, release, revision, drift, at } => {
            let query = sqlx::query(
                "UPDATE installations SET drift = $5, drift_checked_at = $6 \
                 WHERE cluster_id = $1 AND namespace = $2 AND release = $3 AND revision = $4",
            );
            let query = query.bind(cluster.0).bind(namespace).bind(release).bind(i64::from(revision));
            run(query.bind(drift.map(sqlx::types::Json)).bind(Moment(at)), connection).await
        }
        OperatorWrite::Gone { cluster, namespace, release } => {
            let query = sqlx::query(
                "DELETE FROM installations WHERE cluster_id = $1 AND namespace = $2 AND release = $3",
            );
            run(query.bind(cluster.0).bind(namespace).bind(release), connection).await
        }
        OperatorWrite::LetGo { cluster, namespace, release } => {
            let query = sqlx::query(
                "UPDATE installations SET managed_by = 'helm', adopted_by = NULL, adopted_at = NULL \
                 WHERE cluster_id = $1 AND namespace = $2 AND release = $3 AND managed_by = 'slipway'",
            );
            run(query.bind(cluster.0).bind(namespace).bind(release), connection).await
        }
        OperatorWrite::Adopt { cluster, namespace, release, operator, by, at } => {
            let query = sqlx::query(
                "UPDATE installations SET managed_by = 'slipway', operator_id = $4, adopted_by = $5, adopted_at = $6 \
                 WHERE cluster_id = $1 AND namespace = $2 AND release = $3 AND managed_by = 'helm'",
            );
            let query = query.bind(cluster.0).bind(&namespace).bind(&release).bind(operator.0);
            let done = query.bind(by).bind(Moment(at)).execute(connection).await.map_err(refused)?;
            if done.rows_affected() == 0 {
                return Err(StoreError::Stale { what: format!("the release {namespace}/{release}") });
            }
            Ok(())
        }
        other => Err(StoreError::Other(format!("this server does not know how to write {other:?}").into())),
    }
}

/// What was changed meanwhile is sealed with the newest key already.
async fn reseal(
    connection: &mut PgConnection,
    place: SealedPlace,
    before: &Sealed,
    sealed: &Sealed,
) -> Result<(), StoreError> {
    let query = match place {
        SealedPlace::Credentials(id) => {
            sqlx::query("UPDATE operator_credentials SET sealed = $2 WHERE sealed = $1 AND operator_id = $3")
                .bind(&before.0)
                .bind(&sealed.0)
                .bind(id.0)
        }
        SealedPlace::Values { cluster, namespace, release } => sqlx::query(
            "UPDATE installations SET values_sealed = $2 \
             WHERE values_sealed = $1 AND cluster_id = $3 AND namespace = $4 AND release = $5",
        )
        .bind(&before.0)
        .bind(&sealed.0)
        .bind(cluster.0)
        .bind(namespace)
        .bind(release),
    };
    run(query, connection).await
}

async fn run(
    query: sqlx::query::Query<'_, Postgres, sqlx::postgres::PgArguments>,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    query.execute(connection).await.map(drop).map_err(refused)
}

async fn add(connection: &mut PgConnection, operator: &Operator) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO operators (id, name, description, namespace, chart_repository, chart_name, current_version, \
         current_order, crd_names, labels, default_values, profile, authority, checked_at, revision, created_at, \
         updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    );
    let query = query
        .bind(operator.id.0)
        .bind(operator.name.as_str())
        .bind(&operator.description)
        .bind(operator.namespace.as_str())
        .bind(operator.chart.repository.as_str())
        .bind(operator.chart.chart.as_str())
        .bind(operator.current_version.as_ref().map(Version::as_str))
        .bind(operator.current_version.as_ref().map(Version::order))
        .bind(&operator.crd_names)
        .bind(sqlx::types::Json(&operator.labels))
        .bind(sqlx::types::Json(&operator.default_values))
        .bind(operator.profile.as_ref().map(sqlx::types::Json))
        .bind(&operator.authority)
        .bind(operator.checked_at.map(Moment))
        .bind(operator.revision)
        .bind(Moment(operator.created_at))
        .bind(Moment(operator.updated_at));
    run(query, connection).await
}

async fn change(connection: &mut PgConnection, operator: &Operator, revision: i64) -> Result<(), StoreError> {
    // Charts render other definitions with other values, so they have to be looked into again.
    let again = sqlx::query(
        "UPDATE operator_versions SET crds_recorded_at = NULL WHERE operator_id = $1 AND EXISTS \
         (SELECT FROM operators WHERE id = $1 AND revision = $2 AND default_values <> $3)",
    );
    let again = again.bind(operator.id.0).bind(revision).bind(sqlx::types::Json(&operator.default_values));
    run(again, &mut *connection).await?;
    let query = sqlx::query(
        "UPDATE operators SET description = $3, current_version = $4, current_order = $5, labels = $6, \
         default_values = $7, profile = $8, authority = $9, updated_at = $10, revision = revision + 1 \
         WHERE id = $1 AND revision = $2",
    );
    let done = query
        .bind(operator.id.0)
        .bind(revision)
        .bind(&operator.description)
        .bind(operator.current_version.as_ref().map(Version::as_str))
        .bind(operator.current_version.as_ref().map(Version::order))
        .bind(sqlx::types::Json(&operator.labels))
        .bind(sqlx::types::Json(&operator.default_values))
        .bind(operator.profile.as_ref().map(sqlx::types::Json))
        .bind(&operator.authority)
        .bind(Moment(operator.updated_at))
        .execute(connection)
        .await
        .map_err(refused)?;
    if done.rows_affected() == 0 {
        return Err(StoreError::Stale { what: format!("the operator {}", operator.name) });
    }
    Ok(())
}

async fn seal(
    connection: &mut PgConnection,
    id: OperatorId,
    credentials: Option<Sealed>,
) -> Result<(), StoreError> {
    let Some(Sealed(sealed)) = credentials else {
        let query = sqlx::query("DELETE FROM operator_credentials WHERE operator_id = $1");
        return run(query.bind(id.0), connection).await;
    };
    let query = sqlx::query(
        "INSERT INTO operator_credentials (operator_id, sealed) VALUES ($1, $2) \
         ON CONFLICT (operator_id) DO UPDATE SET sealed = EXCLUDED.sealed",
    );
    run(query.bind(id.0).bind(sealed), connection).await
}

async fn offer(
    connection: &mut PgConnection,
    id: OperatorId,
    versions: Vec<ChartVersion>,
    latest: Option<Version>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "UPDATE operators SET latest_version = $2, latest_order = $3, checked_at = $4, check_error = NULL \
         WHERE id = $1",
    );
    let query = query.bind(id.0).bind(latest.as_ref().map(Version::as_str));
    run(query.bind(latest.as_ref().map(Version::order)).bind(Moment(at)), &mut *connection).await?;
    for some in versions.chunks(ROWS) {
        let mut query = QueryBuilder::<Postgres>::new(
            "INSERT INTO operator_versions (operator_id, version, version_order, app_version, released_at, \
             deprecated, changelog_url, digest, first_seen_at) ",
        );
        query.push_values(some, |mut row, version| {
            row.push_bind(id.0)
                .push_bind(version.version.to_string())
                .push_bind(version.version.order())
                .push_bind(version.app_version.clone())
                .push_bind(version.released_at.map(Moment))
                .push_bind(version.deprecated)
                .push_bind(version.changelog_url.clone())
                .push_bind(version.digest.clone())
                .push_bind(Moment(at));
        });
        // A registry gives details of the newest versions only; what was known of the others stays.
        query.push(
            " ON CONFLICT (operator_id, version) DO UPDATE SET withdrawn_at = NULL, \
             deprecated = EXCLUDED.deprecated, \
             app_version = COALESCE(EXCLUDED.app_version, operator_versions.app_version), \
             released_at = COALESCE(EXCLUDED.released_at, operator_versions.released_at), \
             changelog_url = COALESCE(EXCLUDED.changelog_url, operator_versions.changelog_url), \
             digest = COALESCE(EXCLUDED.digest, operator_versions.digest) \
             WHERE (operator_versions.withdrawn_at, operator_versions.deprecated, operator_versions.app_version, \
             operator_versions.released_at, operator_versions.changelog_url, operator_versions.digest) \
             IS DISTINCT FROM (NULL::timestamptz, EXCLUDED.deprecated, EXCLUDED.app_version, \
             EXCLUDED.released_at, EXCLUDED.changelog_url, EXCLUDED.digest)",
        );
        query.build().execute(&mut *connection).await.map_err(refused)?;
    }
    let offered: Vec<String> = versions.iter().map(|version| version.version.to_string()).collect();
    let query = sqlx::query(
        "UPDATE operator_versions SET withdrawn_at = $3 \
         WHERE operator_id = $1 AND withdrawn_at IS NULL AND version <> ALL ($2)",
    );
    run(query.bind(id.0).bind(offered).bind(Moment(at)), connection).await
}

async fn archive(
    connection: &mut PgConnection,
    id: OperatorId,
    version: &Version,
    digest: &str,
    bytes: Vec<u8>,
) -> Result<(), StoreError> {
    let size = i32::try_from(bytes.len()).map_err(|error| StoreError::Other(error.into()))?;
    let query = sqlx::query(
        "INSERT INTO chart_archives (digest, size, bytes) VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING",
    );
    run(query.bind(digest).bind(size).bind(bytes), &mut *connection).await?;
    // The first archive of a version is the one that counts: a version that is published anew under the
    // same name does not change what is pinned.
    let query = sqlx::query(
        "UPDATE operator_versions SET archive_digest = $3 \
         WHERE operator_id = $1 AND version_order = $2 AND archive_digest IS NULL",
    );
    run(query.bind(id.0).bind(version.order()).bind(digest), connection).await
}

async fn see(
    connection: &mut PgConnection,
    cluster: ClusterId,
    operator: Option<OperatorId>,
    seen: &Seen,
    values: Option<Sealed>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO installations (cluster_id, namespace, release, operator_id, chart, version, app_version, \
         revision, state, managed_by, manager_reference, deployed_at, values_sealed, first_seen_at, seen_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14) \
         ON CONFLICT (cluster_id, namespace, release) DO UPDATE SET operator_id = EXCLUDED.operator_id, \
         chart = EXCLUDED.chart, version = EXCLUDED.version, app_version = EXCLUDED.app_version, \
         revision = EXCLUDED.revision, state = EXCLUDED.state, manager_reference = EXCLUDED.manager_reference, \
         deployed_at = EXCLUDED.deployed_at, values_sealed = EXCLUDED.values_sealed, seen_at = EXCLUDED.seen_at, \
         managed_by = CASE WHEN installations.managed_by = 'slipway' AND EXCLUDED.managed_by = 'helm' \
         THEN 'slipway' ELSE EXCLUDED.managed_by END, \
         drift = CASE WHEN installations.revision = EXCLUDED.revision THEN installations.drift END, \
         drift_checked_at = CASE WHEN installations.revision = EXCLUDED.revision \
         THEN installations.drift_checked_at END",
    );
    let query = query
        .bind(cluster.0)
        .bind(&seen.namespace)
        .bind(&seen.release)
        .bind(operator.map(|operator| operator.0))
        .bind(&seen.chart)
        .bind(&seen.version)
        .bind(&seen.app_version)
        .bind(i64::from(seen.revision))
        .bind(seen.state.word())
        .bind(seen.managed_by.word())
        .bind(&seen.manager_reference)
        .bind(seen.deployed_at.map(Moment))
        .bind(values.map(|Sealed(bytes)| bytes))
        .bind(Moment(at));
    run(query, connection).await
}
