//! Rows as values.

use slipway_domain::access::{Environment, Role};
use slipway_domain::id::{TokenId, UserId};
use slipway_domain::name::Name;
use slipway_domain::user::{ApiToken, Email, Origin, User, UserState, Username};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::postgres::moment::Moment;

/// The columns of a user, of a table called `u`.
pub(super) const USER: &str = "u.id, u.username, u.full_name, u.email, u.role, u.environments, u.issuer, \
    u.subject, u.state, u.must_change_password, u.version, u.revision, u.created_at, u.updated_at, \
    u.last_login_at";

/// The columns of a token, of a table called `t`; its owner's name is `username`.
pub(super) const TOKEN: &str = "t.id AS token_id, t.name AS token_name, t.owner_id, t.role AS token_role, \
    t.environments AS token_environments, t.created_at AS token_created_at, t.expires_at, t.revoked_at, \
    t.last_used_at";

fn decode<E: Into<Box<dyn std::error::Error + Send + Sync>>>(error: E) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}

fn role(row: &PgRow, column: &str) -> Result<Role, sqlx::Error> {
    row.try_get::<&str, _>(column)?.parse().map_err(|error: String| decode(error))
}

fn environments(row: &PgRow, column: &str) -> Result<Vec<Environment>, sqlx::Error> {
    let words: Vec<String> = row.try_get(column)?;
    words.iter().map(|word| word.parse().map_err(|error: String| decode(error))).collect()
}

/// A user of a row with the columns [`USER`].
pub(super) fn user(row: &PgRow) -> Result<User, sqlx::Error> {
    let issuer: Option<String> = row.try_get("issuer")?;
    let subject: Option<String> = row.try_get("subject")?;
    let email: Option<String> = row.try_get("email")?;
    Ok(User {
        id: UserId(row.try_get("id")?),
        username: row.try_get::<String, _>("username")?.parse::<Username>().map_err(decode)?,
        full_name: row.try_get("full_name")?,
        email: email.map(|email| email.parse::<Email>()).transpose().map_err(decode)?,
        role: role(row, "role")?,
        environments: environments(row, "environments")?,
        origin: match issuer.zip(subject) {
            Some((issuer, subject)) => Origin::Oidc { issuer, subject },
            None => Origin::Local,
        },
        state: match row.try_get("state")? {
            "Enabled" => UserState::Enabled,
            "Disabled" => UserState::Disabled,
            _ => UserState::Deleted,
        },
        must_change_password: row.try_get("must_change_password")?,
        version: row.try_get("version")?,
        revision: row.try_get("revision")?,
        created_at: row.try_get::<Moment, _>("created_at")?.0,
        updated_at: row.try_get::<Moment, _>("updated_at")?.0,
        last_login_at: row.try_get::<Option<Moment>, _>("last_login_at")?.map(|at| at.0),
    })
}

/// A token of a row with the columns [`TOKEN`].
pub(super) fn token(row: &PgRow) -> Result<ApiToken, sqlx::Error> {
    Ok(ApiToken {
        id: TokenId(row.try_get("token_id")?),
        name: row.try_get::<String, _>("token_name")?.parse::<Name>().map_err(decode)?,
        owner: UserId(row.try_get("owner_id")?),
        owner_name: row.try_get("username")?,
        role: role(row, "token_role")?,
        environments: environments(row, "token_environments")?,
        created_at: row.try_get::<Moment, _>("token_created_at")?.0,
        expires_at: row.try_get::<Moment, _>("expires_at")?.0,
        revoked_at: row.try_get::<Option<Moment>, _>("revoked_at")?.map(|at| at.0),
        last_used_at: row.try_get::<Option<Moment>, _>("last_used_at")?.map(|at| at.0),
    })
}
