//! Logging in, people and tokens.

mod login;
mod oidc;
mod roles;
mod secret;
mod tokens;
mod users;

use slipway_domain::access::Permission;

use crate::endpoint::{Endpoint, Method};

pub use login::{LoggedInUser, LoginReply, LoginRequest, Me, PasswordRequest};
pub use oidc::{
    CallbackQuery, DeviceReply, DeviceStart, DeviceStatus, DeviceTokenRequest, IssuerMethod, LoginMethods,
    StartQuery,
};
pub use roles::{PermissionRow, RoleTable, UserEnvironment, UserRole};
pub use secret::SecretText;
pub use tokens::{CreateTokenRequest, CreatedToken, Token, TokenList, TokenState, TokensQuery};
pub use users::{
    CreateUserRequest, CreatedUser, OneTimePassword, UpdateUserRequest, User, UserList, UserState, UsersQuery,
};

const SMALL: usize = 16 * 1024;

/// Begins a session with a password.
pub const LOGIN: Endpoint =
    Endpoint::new(Method::Post, "/authentication/login", "login", Permission::OwnAccount, 10)
        .open()
        .takes::<LoginRequest>()
        .gives::<LoginReply>(200)
        .secret()
        .up_to(SMALL)
        .fails(&[400, 401, 403])
        .says("Log in with a username and a password");

/// A new token for a session.
pub const REFRESH: Endpoint =
    Endpoint::new(Method::Post, "/authentication/refresh", "refreshToken", Permission::OwnAccount, 30)
        .gives::<LoginReply>(200)
        .secret()
        .fails(&[409])
        .says("Get a new token for the session that this one belongs to");

/// Ends a session.
pub const LOGOUT: Endpoint =
    Endpoint::new(Method::Post, "/authentication/logout", "logout", Permission::OwnAccount, 30)
        .gives_nothing(204)
        .fails(&[409])
        .says("End the session that this token belongs to");

/// Who one is.
pub const ME: Endpoint =
    Endpoint::new(Method::Get, "/authentication/me", "getMe", Permission::OwnAccount, 60)
        .gives::<Me>(200)
        .says("Who you are and what you may do");

/// Another password for oneself.
pub const CHANGE_PASSWORD: Endpoint =
    Endpoint::new(Method::Put, "/authentication/password", "changePassword", Permission::OwnAccount, 10)
        .takes::<PasswordRequest>()
        .gives::<LoginReply>(200)
        .secret()
        .up_to(SMALL)
        .fails(&[400, 404, 409])
        .says("Change your password; all your sessions end, and a new one begins");

/// How one can log in.
pub const METHODS: Endpoint =
    Endpoint::new(Method::Get, "/authentication/methods", "getLoginMethods", Permission::OwnAccount, 60)
        .open()
        .gives::<LoginMethods>(200)
        .says("How people can log in here");

/// Sends a browser to an issuer.
pub const OIDC_START: Endpoint = Endpoint::new(
    Method::Get,
    "/authentication/oidc/{issuer}/start",
    "startOidc",
    Permission::OwnAccount,
    20,
)
.open()
.asks::<StartQuery>()
.gives_nothing(303)
.fails(&[400, 404])
.says("Go to an issuer's page to log in; for browsers");

/// Takes a browser back from an issuer.
pub const OIDC_CALLBACK: Endpoint = Endpoint::new(
    Method::Get,
    "/authentication/oidc/{issuer}/callback",
    "finishOidc",
    Permission::OwnAccount,
    20,
)
.open()
.asks::<CallbackQuery>()
.gives_nothing(303)
.fails(&[400, 401, 403, 404, 409])
.says("Where an issuer sends a browser back to");

/// Begins a login on another device.
pub const DEVICE_START: Endpoint = Endpoint::new(
    Method::Post,
    "/authentication/oidc/{issuer}/device",
    "startDeviceLogin",
    Permission::OwnAccount,
    10,
)
.open()
.gives::<DeviceStart>(200)
.secret()
.fails(&[404])
.says("Log in through an issuer's page on another device; for the command line");

/// Asks whether it is done.
pub const DEVICE_TOKEN: Endpoint = Endpoint::new(
    Method::Post,
    "/authentication/oidc/{issuer}/device/token",
    "pollDeviceLogin",
    Permission::OwnAccount,
    60,
)
.open()
.takes::<DeviceTokenRequest>()
.gives::<DeviceReply>(200)
.secret()
.up_to(SMALL)
.fails(&[400, 401, 403, 404, 409])
.says("Ask whether somebody has logged in on the issuer's page");

/// What each role may do.
pub const ROLES: Endpoint = Endpoint::new(Method::Get, "/roles", "getRoles", Permission::Read, 60)
    .gives::<RoleTable>(200)
    .says("Which role may do what");

/// People.
pub const LIST_USERS: Endpoint =
    Endpoint::new(Method::Get, "/users", "listUsers", Permission::ManageUsers, 60)
        .asks::<UsersQuery>()
        .gives::<UserList>(200)
        .fails(&[400])
        .says("List people, by name");

/// A new person.
pub const CREATE_USER: Endpoint =
    Endpoint::new(Method::Post, "/users", "createUser", Permission::ManageUsers, 10)
        .takes::<CreateUserRequest>()
        .gives::<CreatedUser>(201)
        .secret()
        .up_to(SMALL)
        .fails(&[400, 409])
        .says("Make a local user; the reply has a password that counts once");

/// One person.
pub const GET_USER: Endpoint =
    Endpoint::new(Method::Get, "/users/{username}", "getUser", Permission::ManageUsers, 60)
        .gives::<User>(200)
        .tagged()
        .fails(&[404])
        .says("Show somebody");

/// Changes a person.
pub const UPDATE_USER: Endpoint =
    Endpoint::new(Method::Put, "/users/{username}", "updateUser", Permission::ManageUsers, 10)
        .takes::<UpdateUserRequest>()
        .gives::<User>(200)
        .tagged()
        .up_to(SMALL)
        .fails(&[400, 404, 409, 412])
        .says("Replace somebody's name, address, role and environments");

/// Keeps a person out for good.
pub const DELETE_USER: Endpoint =
    Endpoint::new(Method::Delete, "/users/{username}", "deleteUser", Permission::ManageUsers, 10)
        .gives_nothing(204)
        .fails(&[404, 409, 412])
        .says("Keep somebody out for good; the name is not given again");

/// Keeps a person out.
pub const DISABLE_USER: Endpoint =
    Endpoint::new(Method::Post, "/users/{username}/disable", "disableUser", Permission::ManageUsers, 10)
        .gives::<User>(200)
        .fails(&[404, 409, 412])
        .says("Keep somebody out; their sessions and tokens stop to count at once");

/// Lets a person in again.
pub const ENABLE_USER: Endpoint =
    Endpoint::new(Method::Post, "/users/{username}/enable", "enableUser", Permission::ManageUsers, 10)
        .gives::<User>(200)
        .fails(&[404, 409, 412])
        .says("Let somebody log in again, and forget failed attempts");

/// Another password for somebody.
pub const RESET_PASSWORD: Endpoint = Endpoint::new(
    Method::Post,
    "/users/{username}/reset-password",
    "resetPassword",
    Permission::ManageUsers,
    10,
)
.gives::<OneTimePassword>(200)
.secret()
.fails(&[404, 409, 412])
.says("Give somebody a password that counts once and has to be changed");

/// Tokens of machines.
pub const LIST_TOKENS: Endpoint =
    Endpoint::new(Method::Get, "/tokens", "listTokens", Permission::OwnAccount, 60)
        .asks::<TokensQuery>()
        .gives::<TokenList>(200)
        .fails(&[400])
        .says("List your tokens for machines, without their secrets");

/// A new token.
pub const CREATE_TOKEN: Endpoint =
    Endpoint::new(Method::Post, "/tokens", "createToken", Permission::OwnAccount, 10)
        .takes::<CreateTokenRequest>()
        .gives::<CreatedToken>(201)
        .secret()
        .up_to(SMALL)
        .fails(&[400, 404, 409])
        .says("Make a token for a machine; its secret is shown once");

/// Ends a token.
pub const REVOKE_TOKEN: Endpoint =
    Endpoint::new(Method::Delete, "/tokens/{id}", "revokeToken", Permission::OwnAccount, 10)
        .gives_nothing(204)
        .fails(&[404])
        .says("End a token at once");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    LOGIN,
    REFRESH,
    LOGOUT,
    ME,
    CHANGE_PASSWORD,
    METHODS,
    OIDC_START,
    OIDC_CALLBACK,
    DEVICE_START,
    DEVICE_TOKEN,
    ROLES,
    LIST_USERS,
    CREATE_USER,
    GET_USER,
    UPDATE_USER,
    DELETE_USER,
    DISABLE_USER,
    ENABLE_USER,
    RESET_PASSWORD,
    LIST_TOKENS,
    CREATE_TOKEN,
    REVOKE_TOKEN,
];
