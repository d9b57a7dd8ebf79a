//! People.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use slipway_contract::identity as wire;
use slipway_domain::user::{Origin, User, UserState};
use slipway_http::{ApiError, Body, Caller, IfMatch, Path, Query, Tagged};
use slipway_orchestrator::identity::{NewUser, UserChange};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::identity::Password;
use slipway_orchestrator::ports::store::UserFilter;

use super::environments;
use crate::App;

pub(super) async fn list(
    State(app): State<App>,
    Caller(caller): Caller,
    Query(query): Query<wire::UsersQuery>,
) -> Result<Json<wire::UserList>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let filter = UserFilter {
        role: query.role.map(Into::into),
        state: query.state.map(|state| match state {
            wire::UserState::Enabled => UserState::Enabled,
            wire::UserState::Disabled => UserState::Disabled,
            wire::UserState::Deleted => UserState::Deleted,
        }),
    };
    let page = app.manager.list_users(&caller, &filter, window).await?;
    let info = crate::page::info(&page);
    Ok(Json(wire::UserList { users: page.items.into_iter().map(shown).collect(), page: info }))
}

pub(super) async fn create(
    State(app): State<App>,
    Caller(caller): Caller,
    Body(request): Body<wire::CreateUserRequest>,
) -> Result<(StatusCode, Json<wire::CreatedUser>), ApiError> {
    let new = NewUser {
        username: request.username,
        rest: UserChange {
            full_name: request.full_name,
            email: request.email,
            role: request.role.into(),
            environments: request.environments.into_iter().map(Into::into).collect(),
        },
    };
    let (user, password) = app.manager.create_user(&caller, &new).await?;
    let created = wire::CreatedUser { user: shown(user), one_time_password: secret(&password) };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn get(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
) -> Result<Tagged<Json<wire::User>>, ApiError> {
    Ok(tagged(app.manager.get_user(&caller, &name).await?))
}

pub(super) async fn update(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
    IfMatch(revision): IfMatch,
    Body(request): Body<wire::UpdateUserRequest>,
) -> Result<Tagged<Json<wire::User>>, ApiError> {
    let change = UserChange {
        full_name: request.full_name,
        email: request.email,
        role: request.role.into(),
        environments: request.environments.into_iter().map(Into::into).collect(),
    };
    let user = app.manager.update_user(&caller, &name, &change, revision).await?;
    Ok(tagged(user))
}

pub(super) async fn delete(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.manager.delete_user(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn disable(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
) -> Result<Json<wire::User>, ApiError> {
    Ok(Json(shown(app.manager.disable_user(&caller, &name).await?)))
}

pub(super) async fn enable(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
) -> Result<Json<wire::User>, ApiError> {
    Ok(Json(shown(app.manager.enable_user(&caller, &name).await?)))
}

pub(super) async fn reset_password(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(name): Path<String>,
) -> Result<Json<wire::OneTimePassword>, ApiError> {
    let (user, password) = app.manager.reset_password(&caller, &name).await?;
    Ok(Json(wire::OneTimePassword { username: user.username.into(), one_time_password: secret(&password) }))
}

fn secret(password: &Password) -> wire::SecretText {
    wire::SecretText(password.expose().to_owned())
}

/// A user with their revision as tag.
fn tagged(user: User) -> Tagged<Json<wire::User>> {
    Tagged(user.revision, Json(shown(user)))
}

fn shown(user: User) -> wire::User {
    wire::User {
        user_id: user.id.0,
        username: user.username.into(),
        full_name: user.full_name,
        email: user.email.map(Into::into),
        role: user.role.into(),
        environments: environments(&user.environments),
        issuer: match user.origin {
            Origin::Local => None,
            Origin::Oidc { issuer, .. } => Some(issuer),
        },
        state: match user.state {
            UserState::Enabled => wire::UserState::Enabled,
            UserState::Disabled => wire::UserState::Disabled,
            UserState::Deleted => wire::UserState::Deleted,
        },
        must_change_password: user.must_change_password,
        created_at: user.created_at,
        updated_at: user.updated_at,
        last_login_at: user.last_login_at,
    }
}
