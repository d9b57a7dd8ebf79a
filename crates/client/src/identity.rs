//! Logging in, people and tokens.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use slipway_contract::identity::{
    CHANGE_PASSWORD, CREATE_TOKEN, CREATE_USER, CreateTokenRequest, CreateUserRequest, CreatedToken,
    CreatedUser, DELETE_USER, DEVICE_START, DEVICE_TOKEN, DISABLE_USER, DeviceReply, DeviceStart,
    DeviceTokenRequest, ENABLE_USER, GET_USER, LIST_TOKENS, LIST_USERS, LOGIN, LOGOUT, LoginMethods,
    LoginReply, LoginRequest, ME, METHODS, Me, OneTimePassword, PasswordRequest, REFRESH, RESET_PASSWORD,
    REVOKE_TOKEN, ROLES, RoleTable, TokenList, TokensQuery, UPDATE_USER, UpdateUserRequest, User, UserList,
    UsersQuery,
};

use crate::{Client, ClientError, Renew, Tagged, Token};

/// What to do with a token that was renewed, such as writing it to a file.
type Keep = dyn Fn(&Token) + Send + Sync;

/// Renews the token of somebody who logged in.
#[derive(Clone)]
pub struct RenewLogin {
    keep: Arc<Keep>,
}

impl RenewLogin {
    /// Gives every new token to `keep`.
    pub fn new(keep: impl Fn(&Token) + Send + Sync + 'static) -> Self {
        Self { keep: Arc::new(keep) }
    }
}

impl Renew for RenewLogin {
    fn renew<'a>(&'a self, client: &'a Client) -> BoxFuture<'a, Result<Option<Token>, ClientError>> {
        async move {
            let reply = client.refresh_login().await?;
            let token = Token::new(reply.token.0, Some(reply.expires_at));
            (self.keep)(&token);
            Ok(Some(token))
        }
        .boxed()
    }
}

impl Client {
    /// Logs in with a password.
    pub async fn login(&self, request: &LoginRequest) -> Result<LoginReply, ClientError> {
        self.call(&LOGIN, &[]).body(request).send().await
    }

    /// A new token for this session.
    pub async fn refresh_login(&self) -> Result<LoginReply, ClientError> {
        self.call(&REFRESH, &[]).send().await
    }

    /// Ends this session.
    pub async fn logout(&self) -> Result<(), ClientError> {
        self.call(&LOGOUT, &[]).send_only().await
    }

    /// Who one is.
    pub async fn me(&self) -> Result<Me, ClientError> {
        self.call(&ME, &[]).send().await
    }

    /// Changes one's own password; the reply has the token of a new session.
    pub async fn change_password(&self, request: &PasswordRequest) -> Result<LoginReply, ClientError> {
        self.call(&CHANGE_PASSWORD, &[]).body(request).send().await
    }

    /// How one can log in.
    pub async fn login_methods(&self) -> Result<LoginMethods, ClientError> {
        self.call(&METHODS, &[]).send().await
    }

    /// Begins a login on another device.
    pub async fn start_device_login(&self, issuer: &str) -> Result<DeviceStart, ClientError> {
        self.call(&DEVICE_START, &[issuer]).send().await
    }

    /// Asks whether it is done.
    pub async fn poll_device_login(
        &self,
        issuer: &str,
        request: &DeviceTokenRequest,
    ) -> Result<DeviceReply, ClientError> {
        self.call(&DEVICE_TOKEN, &[issuer]).body(request).send().await
    }

    /// Which role may do what.
    pub async fn roles(&self) -> Result<RoleTable, ClientError> {
        self.call(&ROLES, &[]).send().await
    }

    /// A part of the people.
    pub async fn users(&self, query: &UsersQuery) -> Result<UserList, ClientError> {
        self.call(&LIST_USERS, &[]).query(query).send().await
    }

    /// Somebody, with the tag for a change.
    pub async fn user(&self, name: &str) -> Result<Tagged<User>, ClientError> {
        self.call(&GET_USER, &[name]).send_tagged().await
    }

    /// Makes somebody.
    pub async fn create_user(&self, request: &CreateUserRequest) -> Result<CreatedUser, ClientError> {
        self.call(&CREATE_USER, &[]).body(request).send().await
    }

    /// Changes somebody, if they still have this tag.
    pub async fn update_user(
        &self,
        name: &str,
        request: &UpdateUserRequest,
        tag: Option<&str>,
    ) -> Result<User, ClientError> {
        self.call(&UPDATE_USER, &[name]).if_match(tag).body(request).send().await
    }

    /// Keeps somebody out for good.
    pub async fn delete_user(&self, name: &str) -> Result<(), ClientError> {
        self.call(&DELETE_USER, &[name]).send_only().await
    }

    /// Keeps somebody out.
    pub async fn disable_user(&self, name: &str) -> Result<User, ClientError> {
        self.call(&DISABLE_USER, &[name]).send().await
    }

    /// Lets somebody in again.
    pub async fn enable_user(&self, name: &str) -> Result<User, ClientError> {
        self.call(&ENABLE_USER, &[name]).send().await
    }

    /// Gives somebody a password that counts once.
    pub async fn reset_password(&self, name: &str) -> Result<OneTimePassword, ClientError> {
        self.call(&RESET_PASSWORD, &[name]).send().await
    }

    /// A part of the tokens.
    pub async fn tokens(&self, query: &TokensQuery) -> Result<TokenList, ClientError> {
        self.call(&LIST_TOKENS, &[]).query(query).send().await
    }

    /// Makes a token for a machine.
    pub async fn create_token(&self, request: &CreateTokenRequest) -> Result<CreatedToken, ClientError> {
        self.call(&CREATE_TOKEN, &[]).body(request).send().await
    }

    /// Ends a token.
    pub async fn revoke_token(&self, id: &str) -> Result<(), ClientError> {
        self.call(&REVOKE_TOKEN, &[id]).send_only().await
    }
}
