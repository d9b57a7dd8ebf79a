//! Changes of people, sessions, tokens and keys.

use slipway_domain::access::{Environment, Role};
use slipway_domain::user::{ApiToken, Origin, User};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{LAST_ADMIN, Session, StoredPassword, UserWrite};
use sqlx::PgConnection;

use super::{attempts, keys};
use crate::postgres::error::refused;
use crate::postgres::moment::Moment;

/// Writes one change.
pub(in crate::postgres) async fn apply(
    connection: &mut PgConnection,
    write: UserWrite,
) -> Result<(), StoreError> {
    match write {
        UserWrite::Create { user, password } => create(connection, &user, password.as_ref()).await,
        UserWrite::Change { user, password } => change(connection, &user, password.as_ref()).await,
        UserWrite::StartSession(session) => start_session(connection, &session).await,
        UserWrite::Forgive(keys) => attempts::forgive(connection, &keys).await,
        UserWrite::EndSession { id, at } => {
            sqlx::query("UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL")
                .bind(id.0)
                .bind(Moment(at))
                .execute(connection)
                .await
                .map(drop)
                .map_err(refused)
        }
        UserWrite::EndSessions { user, at } => {
            sqlx::query("UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL")
                .bind(user.0)
                .bind(Moment(at))
                .execute(connection)
                .await
                .map(drop)
                .map_err(refused)
        }
        UserWrite::CreateToken { token, key } => create_token(connection, &token, &key).await,
        UserWrite::RevokeToken { id, at } => {
            sqlx::query("UPDATE api_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
                .bind(id.0)
                .bind(Moment(at))
                .execute(connection)
                .await
                .map(drop)
                .map_err(refused)
        }
        UserWrite::AddKey(key) => keys::add(connection, &key).await,
        UserWrite::ResealKey { id, sealed } => keys::reseal(connection, &id, &sealed).await,
        other => Err(StoreError::Other(format!("no rows are kept for {other:?}").into())),
    }
}

fn words(environments: &[Environment]) -> Vec<String> {
    environments.iter().map(ToString::to_string).collect()
}

async fn create(
    connection: &mut PgConnection,
    user: &User,
    password: Option<&StoredPassword>,
) -> Result<(), StoreError> {
    let (issuer, subject) = match &user.origin {
        Origin::Local => (None, None),
        Origin::Oidc { issuer, subject } => (Some(issuer), Some(subject)),
    };
    sqlx::query(
        "INSERT INTO users (id, username, full_name, email, role, environments, issuer, subject, state,
             password_hash, password_until, must_change_password, version, revision, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    )
    .bind(user.id.0)
    .bind(user.username.as_str())
    .bind(&user.full_name)
    .bind(user.email.as_ref().map(slipway_domain::user::Email::as_str))
    .bind(user.role.to_string())
    .bind(words(&user.environments))
    .bind(issuer)
    .bind(subject)
    .bind(user.state.as_str())
    .bind(password.map(|password| &password.hash))
    .bind(password.and_then(|password| password.until).map(Moment))
    .bind(user.must_change_password)
    .bind(user.version)
    .bind(user.revision)
    .bind(Moment(user.created_at))
    .bind(Moment(user.updated_at))
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

async fn change(
    connection: &mut PgConnection,
    user: &User,
    password: Option<&StoredPassword>,
) -> Result<(), StoreError> {
    let changed = sqlx::query(
        "UPDATE users SET full_name = $3, email = $4, role = $5, environments = $6, state = $7,
             must_change_password = $8, version = $9, revision = $2, updated_at = $10,
             password_hash = CASE WHEN $11 THEN $12 ELSE password_hash END,
             password_until = CASE WHEN $11 THEN $13 ELSE password_until END
         WHERE id = $1 AND revision = $2 - 1",
    )
    .bind(user.id.0)
    .bind(user.revision)
    .bind(&user.full_name)
    .bind(user.email.as_ref().map(slipway_domain::user::Email::as_str))
    .bind(user.role.to_string())
    .bind(words(&user.environments))
    .bind(user.state.as_str())
    .bind(user.must_change_password)
    .bind(user.version)
    .bind(Moment(user.updated_at))
    .bind(password.is_some())
    .bind(password.map(|password| &password.hash))
    .bind(password.and_then(|password| password.until).map(Moment))
    .execute(&mut *connection)
    .await
    .map_err(refused)?;
    if changed.rows_affected() == 0 {
        return Err(StoreError::Stale { what: format!("user {}", user.username) });
    }
    if user.role == Role::Admin && user.is_enabled() { Ok(()) } else { keep_an_admin(connection).await }
}

/// Somebody must be left who can manage users. Whoever takes an admin away waits for others who do the same,
/// so that two admins cannot remove each other at once.
async fn keep_an_admin(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtext('slipway.last-admin'))")
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    let is_kept: bool = sqlx::query_scalar(
        "SELECT NOT EXISTS (SELECT FROM users)
             OR EXISTS (SELECT FROM users WHERE role = 'Admin' AND state = 'Enabled')",
    )
    .fetch_one(connection)
    .await
    .map_err(refused)?;
    if is_kept { Ok(()) } else { Err(StoreError::Taken { constraint: LAST_ADMIN.to_owned() }) }
}

async fn start_session(connection: &mut PgConnection, session: &Session) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO sessions (id, user_id, started_at, ends_at) VALUES ($1, $2, $3, $4)")
        .bind(session.id.0)
        .bind(session.user.0)
        .bind(Moment(session.started_at))
        .bind(Moment(session.ends_at))
        .execute(&mut *connection)
        .await
        .map_err(refused)?;
    sqlx::query("UPDATE users SET last_login_at = $2 WHERE id = $1")
        .bind(session.user.0)
        .bind(Moment(session.started_at))
        .execute(connection)
        .await
        .map(drop)
        .map_err(refused)
}

async fn create_token(connection: &mut PgConnection, token: &ApiToken, key: &str) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO api_tokens (id, name, owner_id, role, environments, key_id, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(token.id.0)
    .bind(token.name.as_str())
    .bind(token.owner.0)
    .bind(token.role.to_string())
    .bind(words(&token.environments))
    .bind(key)
    .bind(Moment(token.created_at))
    .bind(Moment(token.expires_at))
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}
