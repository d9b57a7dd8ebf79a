//! People, sessions, tokens of machines, signing keys and attempts to log in.

mod attempts;
mod keys;
mod rows;
mod write;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::Role;
use slipway_domain::id::{SessionId, TokenId, UserId};
use slipway_domain::user::{ApiToken, Turn, User, Username};
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{
    AttemptKey, Expired, Session, SigningKey, StoredPassword, TokenFilter, UserFilter, UserRows,
};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder, Row as _};

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

pub(super) use write::apply;

/// Adds `WHERE` and the conditions.
fn narrow(query: &mut QueryBuilder<Postgres>, filter: &UserFilter) {
    match filter.state {
        Some(state) => query.push(" WHERE u.state = ").push_bind(state.as_str()),
        None => query.push(" WHERE u.state <> 'Deleted'"),
    };
    if let Some(role) = filter.role {
        query.push(" AND u.role = ").push_bind(role.to_string());
    }
}

/// Adds the part of the list that is wanted.
fn part(query: &mut QueryBuilder<Postgres>, window: Window) {
    query.push(" LIMIT ").push_bind(i64::from(window.limit));
    query.push(" OFFSET ").push_bind(i64::try_from(window.offset).unwrap_or(i64::MAX));
}

impl PostgresStore {
    /// One user, by a condition on `u` that ends the query.
    async fn one_user(
        &self,
        build: impl FnOnce(&mut QueryBuilder<Postgres>),
    ) -> Result<Option<User>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(" FROM users u WHERE ");
        build(&mut query);
        query.build().try_map(|row: PgRow| rows::user(&row)).fetch_optional(&self.pool).await.map_err(refused)
    }
}

#[async_trait]
impl UserRows for PostgresStore {
    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.one_user(|query| {
            query.push("u.id = ").push_bind(id.0);
        })
        .await
    }

    async fn user_by_name(&self, name: &Username) -> Result<Option<User>, StoreError> {
        self.one_user(|query| {
            query.push("u.username = ").push_bind(name.to_string());
        })
        .await
    }

    async fn user_by_subject(&self, issuer: &str, subject: &str) -> Result<Option<User>, StoreError> {
        self.one_user(|query| {
            query.push("u.issuer = ").push_bind(issuer.to_owned());
            query.push(" AND u.subject = ").push_bind(subject.to_owned());
        })
        .await
    }

    async fn user_with_password(
        &self,
        name: &Username,
    ) -> Result<Option<(User, Option<StoredPassword>)>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(", u.password_hash, u.password_until FROM users u WHERE u.username = ");
        query.push_bind(name.to_string());
        query
            .build()
            .try_map(|row: PgRow| {
                let until = row.try_get::<Option<Moment>, _>("password_until")?.map(|until| until.0);
                let hash: Option<String> = row.try_get("password_hash")?;
                Ok((rows::user(&row)?, hash.map(|hash| StoredPassword { hash, until })))
            })
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn users(&self, filter: &UserFilter, window: Window) -> Result<Page<User>, StoreError> {
        let mut count = QueryBuilder::new("SELECT count(*) FROM users u");
        narrow(&mut count, filter);
        let total: i64 = count.build_query_scalar().fetch_one(&self.pool).await.map_err(refused)?;
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(" FROM users u");
        narrow(&mut query, filter);
        query.push(" ORDER BY u.username");
        part(&mut query, window);
        let found = query.build().try_map(|row: PgRow| rows::user(&row)).fetch_all(&self.pool).await;
        Ok(Page { items: found.map_err(refused)?, total: total.unsigned_abs(), window })
    }

    async fn users_with_role(&self, role: Role) -> Result<Vec<User>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(" FROM users u WHERE u.state = 'Enabled' AND u.role = ");
        query.push_bind(role.to_string()).push(" ORDER BY u.username");
        query.build().try_map(|row: PgRow| rows::user(&row)).fetch_all(&self.pool).await.map_err(refused)
    }

    async fn has_users(&self) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM users)").fetch_one(&self.pool).await.map_err(refused)
    }

    async fn session(&self, id: SessionId) -> Result<Option<(Session, User)>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(
            ", s.id AS session_id, s.started_at, s.ends_at, s.ended_at
             FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ",
        );
        query.push_bind(id.0);
        query
            .build()
            .try_map(|row: PgRow| {
                let user = rows::user(&row)?;
                let session = Session {
                    id: SessionId(row.try_get("session_id")?),
                    user: user.id,
                    started_at: row.try_get::<Moment, _>("started_at")?.0,
                    ends_at: row.try_get::<Moment, _>("ends_at")?.0,
                    ended_at: row.try_get::<Option<Moment>, _>("ended_at")?.map(|at| at.0),
                };
                Ok((session, user))
            })
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn token(&self, id: TokenId) -> Result<Option<(ApiToken, User)>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(rows::USER).push(", ").push(rows::TOKEN);
        query.push(" FROM api_tokens t JOIN users u ON u.id = t.owner_id WHERE t.id = ").push_bind(id.0);
        query
            .build()
            .try_map(|row: PgRow| Ok((rows::token(&row)?, rows::user(&row)?)))
            .fetch_optional(&self.pool)
            .await
            .map_err(refused)
    }

    async fn tokens(&self, filter: &TokenFilter, window: Window) -> Result<Page<ApiToken>, StoreError> {
        let narrow = |query: &mut QueryBuilder<Postgres>| {
            query.push(" FROM api_tokens t JOIN users u ON u.id = t.owner_id WHERE true");
            if let Some(owner) = filter.owner {
                query.push(" AND t.owner_id = ").push_bind(owner.0);
            }
        };
        let mut count = QueryBuilder::new("SELECT count(*)");
        narrow(&mut count);
        let total: i64 = count.build_query_scalar().fetch_one(&self.pool).await.map_err(refused)?;
        let mut query = QueryBuilder::new("SELECT u.username, ");
        query.push(rows::TOKEN);
        narrow(&mut query);
        query.push(" ORDER BY t.created_at DESC, t.id DESC");
        part(&mut query, window);
        let found = query.build().try_map(|row: PgRow| rows::token(&row)).fetch_all(&self.pool).await;
        Ok(Page { items: found.map_err(refused)?, total: total.unsigned_abs(), window })
    }

    async fn signing_keys(&self) -> Result<Vec<SigningKey>, StoreError> {
        keys::all(&self.pool).await
    }

    async fn count_attempt(&self, keys: &[AttemptKey], now: Timestamp) -> Result<Vec<Turn>, StoreError> {
        attempts::count(&self.pool, keys, now).await
    }

    async fn token_used(&self, id: TokenId, at: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE api_tokens SET last_used_at = $2
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)",
        )
        .bind(id.0)
        .bind(Moment(at))
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(refused)
    }

    async fn thin_identity(&self, expired: Expired) -> Result<u64, StoreError> {
        let removed = keys::thin(&self.pool, expired).await?;
        let old = sqlx::query(
            "WITH sessions_gone AS (DELETE FROM sessions WHERE ends_at < $1 RETURNING 1),
                  tokens_gone AS (DELETE FROM api_tokens WHERE expires_at < $1 RETURNING 1),
                  attempts_gone AS (DELETE FROM login_attempts
                      WHERE last_at < $1 AND (locked_until IS NULL OR locked_until < $1) RETURNING 1)
             SELECT 1 FROM sessions_gone UNION ALL SELECT 1 FROM tokens_gone
             UNION ALL SELECT 1 FROM attempts_gone",
        )
        .bind(Moment(expired.before))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)?;
        Ok(removed + old.len() as u64)
    }
}
