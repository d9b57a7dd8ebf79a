//! See `slipway_contract::identity`.

mod browser;
mod tokens;
mod users;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use slipway_contract::identity as wire;
use slipway_contract::identity::{
    CHANGE_PASSWORD, CREATE_TOKEN, CREATE_USER, DELETE_USER, DEVICE_START, DEVICE_TOKEN, DISABLE_USER,
    ENABLE_USER, GET_USER, LIST_TOKENS, LIST_USERS, LOGIN, LOGOUT, ME, METHODS, OIDC_CALLBACK, OIDC_START,
    REFRESH, RESET_PASSWORD, REVOKE_TOKEN, ROLES, UPDATE_USER,
};
use slipway_domain::access::{Actor, ActorKind, Environment, TABLE};
use slipway_domain::user::Origin;
use slipway_http::{ApiError, Bearer, Body, Caller, Path};
use slipway_orchestrator::identity::{DeviceAnswer, LoggedIn};
use slipway_orchestrator::ports::identity::Password;

use crate::App;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&LOGIN, login)
        .add(&REFRESH, refresh)
        .add(&LOGOUT, logout)
        .add(&ME, me)
        .add(&CHANGE_PASSWORD, change_password)
        .add(&METHODS, methods)
        .add(&OIDC_START, browser::start)
        .add(&OIDC_CALLBACK, browser::callback)
        .add(&DEVICE_START, device_start)
        .add(&DEVICE_TOKEN, device_token)
        .add(&ROLES, roles)
        .add(&LIST_USERS, users::list)
        .add(&CREATE_USER, users::create)
        .add(&GET_USER, users::get)
        .add(&UPDATE_USER, users::update)
        .add(&DELETE_USER, users::delete)
        .add(&DISABLE_USER, users::disable)
        .add(&ENABLE_USER, users::enable)
        .add(&RESET_PASSWORD, users::reset_password)
        .add(&LIST_TOKENS, tokens::list)
        .add(&CREATE_TOKEN, tokens::create)
        .add(&REVOKE_TOKEN, tokens::revoke)
}

async fn login(
    State(app): State<App>,
    Caller(caller): Caller,
    Body(request): Body<wire::LoginRequest>,
) -> Result<Json<wire::LoginReply>, ApiError> {
    let password = Password::new(request.password.0);
    let new = request.new_password.map(|new| Password::new(new.0));
    let logged_in = app.manager.login(&caller, &request.username, &password, new.as_ref()).await?;
    Ok(Json(shown(logged_in)))
}

async fn refresh(State(app): State<App>, bearer: Bearer) -> Result<Response, ApiError> {
    let logged_in = app.manager.refresh_session(bearer.token()).await?;
    browser::renewed(&app, &bearer, logged_in)
}

async fn logout(
    State(app): State<App>,
    Caller(caller): Caller,
    bearer: Bearer,
) -> Result<Response, ApiError> {
    app.manager.logout(&caller, bearer.token()).await?;
    browser::ended(&app, &bearer)
}

async fn change_password(
    State(app): State<App>,
    Caller(caller): Caller,
    bearer: Bearer,
    Body(request): Body<wire::PasswordRequest>,
) -> Result<Response, ApiError> {
    let current = Password::new(request.current_password.0);
    let new = Password::new(request.new_password.0);
    let logged_in = app.manager.change_password(&caller, &current, &new).await?;
    browser::renewed(&app, &bearer, logged_in)
}

async fn me(State(app): State<App>, Caller(caller): Caller) -> Result<Json<wire::Me>, ApiError> {
    let user = app.manager.me(&caller).await?;
    let may = TABLE.iter().filter(|(permission, _)| caller.may(*permission));
    let (full_name, email, issuer) = match user {
        Some(user) => {
            let issuer = match user.origin {
                Origin::Local => None,
                Origin::Oidc { issuer, .. } => Some(issuer),
            };
            (user.full_name, user.email.map(Into::into), issuer)
        }
        None => (None, None, None),
    };
    Ok(Json(wire::Me {
        kind: match caller.kind {
            ActorKind::Token { .. } => "token",
            _ => "user",
        }
        .to_owned(),
        permissions: may.map(|(permission, _)| format!("{permission:?}")).collect(),
        role: role(&caller),
        environments: environments(&caller.environments),
        name: caller.name,
        full_name,
        email,
        issuer,
    }))
}

async fn methods(State(app): State<App>) -> Json<wire::LoginMethods> {
    let issuers = app.manager.login_methods().into_iter();
    let issuers = issuers.map(|method| wire::IssuerMethod { name: method.name.into(), title: method.title });
    Json(wire::LoginMethods { password: true, issuers: issuers.collect() })
}

async fn device_start(
    State(app): State<App>,
    Path(issuer): Path<String>,
) -> Result<Json<wire::DeviceStart>, ApiError> {
    let begun = app.manager.device_start(&issuer).await?;
    Ok(Json(wire::DeviceStart {
        handle: begun.handle.into(),
        user_code: begun.user_code,
        verification_uri: begun.verification_uri,
        verification_uri_complete: begun.verification_uri_complete,
        expires_at: begun.expires_at,
        interval_seconds: begun.interval.as_secs(),
    }))
}

async fn device_token(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(issuer): Path<String>,
    Body(request): Body<wire::DeviceTokenRequest>,
) -> Result<Json<wire::DeviceReply>, ApiError> {
    let answer = app.manager.device_poll(&caller, &issuer, &request.handle.0).await?;
    Ok(Json(match answer {
        DeviceAnswer::Pending => wire::DeviceReply { status: wire::DeviceStatus::Pending, login: None },
        DeviceAnswer::SlowDown => wire::DeviceReply { status: wire::DeviceStatus::SlowDown, login: None },
        DeviceAnswer::LoggedIn(done) => {
            wire::DeviceReply { status: wire::DeviceStatus::LoggedIn, login: Some(shown(*done)) }
        }
    }))
}

async fn roles() -> Json<wire::RoleTable> {
    Json(wire::RoleTable::of_domain())
}

fn shown(logged_in: LoggedIn) -> wire::LoginReply {
    wire::LoginReply {
        token: logged_in.token.into(),
        expires_at: logged_in.expires_at,
        session_ends_at: logged_in.session_ends_at,
        user: wire::LoggedInUser {
            username: logged_in.user.username.to_string(),
            role: logged_in.user.role.into(),
            environments: environments(&logged_in.user.environments),
        },
    }
}

fn environments(environments: &[Environment]) -> Vec<wire::UserEnvironment> {
    environments.iter().copied().map(Into::into).collect()
}

/// Whoever has no role is nobody, and the guard let nobody through.
fn role(actor: &Actor) -> wire::UserRole {
    actor.role.map_or(wire::UserRole::Viewer, Into::into)
}
