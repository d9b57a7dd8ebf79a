//! Tokens of machines.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use jiff::Timestamp;
use slipway_contract::identity as wire;
use slipway_domain::user::{ApiToken, TokenState};
use slipway_http::{ApiError, Body, Caller, Path, Query};
use slipway_orchestrator::identity::NewToken;
use slipway_orchestrator::page::Window;

use super::environments;
use crate::App;

/// How long a token lasts where nothing is said.
const USUAL: Duration = Duration::from_hours(90 * 24);

pub(super) async fn list(
    State(app): State<App>,
    Caller(caller): Caller,
    Query(query): Query<wire::TokensQuery>,
) -> Result<Json<wire::TokenList>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let page = app.manager.list_tokens(&caller, query.all.unwrap_or_default(), window).await?;
    let info = crate::page::info(&page);
    let now = Timestamp::now();
    let tokens = page.items.into_iter().map(|token| shown(token, now)).collect();
    Ok(Json(wire::TokenList { tokens, page: info }))
}

pub(super) async fn create(
    State(app): State<App>,
    Caller(caller): Caller,
    Body(request): Body<wire::CreateTokenRequest>,
) -> Result<(StatusCode, Json<wire::CreatedToken>), ApiError> {
    let now = Timestamp::now();
    let life = match request.expires_at {
        // What is past has no life at all, and the use case says what would be right.
        Some(at) => Duration::try_from(at.duration_since(now)).unwrap_or_default(),
        None => USUAL,
    };
    let new = NewToken {
        name: request.name,
        role: request.role.into(),
        environments: request.environments.into_iter().map(Into::into).collect(),
        life,
    };
    let made = app.manager.create_token(&caller, &new).await?;
    let created = wire::CreatedToken { token: shown(made.token, now), secret: made.secret.into() };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn revoke(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.manager.revoke_token(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(token: ApiToken, now: Timestamp) -> wire::Token {
    wire::Token {
        state: match token.state(now) {
            TokenState::Active => wire::TokenState::Active,
            TokenState::Expired => wire::TokenState::Expired,
            TokenState::Revoked => wire::TokenState::Revoked,
        },
        token_id: token.id.0,
        name: token.name.into(),
        owner: token.owner_name,
        role: token.role.into(),
        environments: environments(&token.environments),
        created_at: token.created_at,
        expires_at: token.expires_at,
        last_used_at: token.last_used_at,
    }
}
