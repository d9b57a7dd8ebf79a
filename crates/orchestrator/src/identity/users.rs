//! People: made, changed, disabled. Whoever may manage users may do this; a name is never given twice.

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_domain::access::{Actor, Environment, Permission, Role};
use slipway_domain::audit::AuditEntry;
use slipway_domain::id::UserId;
use slipway_domain::problem::Problems;
use slipway_domain::user::{Email, Origin, User, UserState, Username, check_full_name, environments_for};
use uuid::Uuid;

use super::after;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::StoreError;
use crate::ports::identity::Password;
use crate::ports::store::{AttemptKey, LAST_ADMIN, StoredPassword, USERNAME, UserFilter, UserWrite};

/// Somebody to be made, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    /// What they will type.
    pub username: String,
    /// What can be changed later.
    pub rest: UserChange,
}

/// What can be changed about somebody, as it was sent: all of it at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserChange {
    /// What people call them.
    pub full_name: Option<String>,
    /// Where mails go.
    pub email: Option<String>,
    /// What they are.
    pub role: Role,
    /// The environments that an owner decides for.
    pub environments: Vec<Environment>,
}

/// A local user, checked, without a password yet.
pub fn new_user(new: &NewUser, now: Timestamp) -> Result<User, Problems> {
    let mut problems = Problems::new();
    let username = problems.take("username", Username::local(&new.username));
    let rest = checked(&new.rest).map_err(|inner| join(&mut problems, &inner)).ok();
    let (Some(username), Some(rest)) = (username, rest) else { return Err(problems) };
    problems.or(User {
        id: UserId(Uuid::now_v7()),
        username,
        full_name: rest.full_name,
        email: rest.email,
        role: rest.role,
        environments: rest.environments,
        origin: Origin::Local,
        state: UserState::Enabled,
        must_change_password: true,
        version: 1,
        revision: 1,
        created_at: now,
        updated_at: now,
        last_login_at: None,
    })
}

/// A user as they are after a change; tokens made for another role or other environments stop to count.
pub fn changed_user(user: &User, change: &UserChange, now: Timestamp) -> Result<User, Error> {
    let rest = checked(change)?;
    let is_same_standing = rest.role == user.role && rest.environments == user.environments;
    if !user.origin.is_local() && !is_same_standing {
        return Err(Error::new(
            Code::Conflict,
            format!(
                "the role of {} comes from their groups at the issuer; change it there, or disable them here",
                user.username
            ),
        ));
    }
    Ok(User {
        full_name: rest.full_name,
        email: rest.email,
        role: rest.role,
        environments: rest.environments,
        version: user.version + i64::from(!is_same_standing),
        revision: user.revision + 1,
        updated_at: now,
        ..user.clone()
    })
}

struct Checked {
    full_name: Option<String>,
    email: Option<Email>,
    role: Role,
    environments: Vec<Environment>,
}

fn checked(change: &UserChange) -> Result<Checked, Problems> {
    let mut problems = Problems::new();
    let full_name =
        change.full_name.as_deref().and_then(|name| problems.take("fullName", check_full_name(name)));
    let email = change.email.as_deref().and_then(|email| problems.take("email", email.parse()));
    let environments = environments_for(change.role, &change.environments)
        .map_err(|inner| join(&mut problems, &inner))
        .unwrap_or_default();
    problems.or(Checked { full_name, email, role: change.role, environments })
}

/// Adds problems that have their whole place already.
pub(super) fn join(problems: &mut Problems, further: &Problems) {
    for problem in further {
        problems.add(problem.path.clone(), &problem.message);
    }
}

/// A user as the audit shows them.
pub(crate) fn shown(user: &User) -> Value {
    json!({
        "username": user.username,
        "fullName": user.full_name,
        "email": user.email,
        "role": user.role,
        "environments": user.environments,
        "state": user.state,
    })
}

impl Manager {
    /// People, by name.
    pub async fn list_users(
        &self,
        actor: &Actor,
        filter: &UserFilter,
        window: Window,
    ) -> Result<Page<User>, Error> {
        self.permit(actor, Permission::ManageUsers, "user.list", "user").await?;
        Ok(self.store().users(filter, window).await?)
    }

    /// One person.
    pub async fn get_user(&self, actor: &Actor, name: &str) -> Result<User, Error> {
        self.permit(actor, Permission::ManageUsers, "user.get", &format!("user/{name}")).await?;
        self.find_user(name).await
    }

    /// Makes a local user, with a password that counts once and is shown once.
    pub async fn create_user(&self, actor: &Actor, new: &NewUser) -> Result<(User, Password), Error> {
        let action = "user.create";
        self.permit(actor, Permission::ManageUsers, action, "user").await?;
        let user = new_user(new, self.now())?;
        let (password, stored) = self.one_time_password().await?;
        let entry = AuditEntry::done(actor, action, resource(&user), format!("made {}", user.username))
            .changing(None, Some(shown(&user)));
        let create = UserWrite::Create { user: Box::new(user.clone()), password: Some(stored) };
        self.store().commit(Changeset::new().write(create).audit(entry)).await.map_err(
            |error| match error {
                StoreError::Taken { constraint } if constraint == USERNAME => Error::new(
                    Code::Conflict,
                    format!("the username {} is taken, or was once and is not given again", user.username),
                ),
                other => other.into(),
            },
        )?;
        Ok((user, password))
    }

    /// Changes name, address, role and environments.
    pub async fn update_user(
        &self,
        actor: &Actor,
        name: &str,
        change: &UserChange,
        revision: Option<i64>,
    ) -> Result<User, Error> {
        let action = "user.update";
        self.permit(actor, Permission::ManageUsers, action, &format!("user/{name}")).await?;
        let old = self.find_user(name).await?;
        expect_revision(&old, revision)?;
        let user = changed_user(&old, change, self.now())?;
        let message = format!("changed {}", user.username);
        self.write_user(actor, action, &old, user, None, Changeset::new(), message).await
    }

    /// Lets somebody log in again, and forgets failed attempts.
    pub async fn enable_user(&self, actor: &Actor, name: &str) -> Result<User, Error> {
        self.set_state(actor, name, UserState::Enabled).await
    }

    /// Keeps somebody out; their sessions and tokens stop to count at once.
    pub async fn disable_user(&self, actor: &Actor, name: &str) -> Result<User, Error> {
        self.set_state(actor, name, UserState::Disabled).await
    }

    /// Keeps somebody out for good. The row stays, so that the audit keeps its meaning.
    pub async fn delete_user(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        self.set_state(actor, name, UserState::Deleted).await.map(drop)
    }

    async fn set_state(&self, actor: &Actor, name: &str, state: UserState) -> Result<User, Error> {
        let (action, done) = match state {
            UserState::Enabled => ("user.enable", "enabled"),
            UserState::Disabled => ("user.disable", "disabled"),
            UserState::Deleted => ("user.delete", "deleted"),
        };
        self.permit(actor, Permission::ManageUsers, action, &format!("user/{name}")).await?;
        let old = self.find_user(name).await?;
        if old.state == state {
            return Ok(old);
        }
        let now = self.now();
        let user = User {
            state,
            version: old.version + 1,
            revision: old.revision + 1,
            updated_at: now,
            ..old.clone()
        };
        let changes = match state {
            UserState::Enabled => Changeset::new().write(UserWrite::Forgive(vec![attempts_of(&user)])),
            UserState::Disabled | UserState::Deleted => {
                Changeset::new().write(UserWrite::EndSessions { user: user.id, at: now })
            }
        };
        let message = format!("{done} {}", user.username);
        self.write_user(actor, action, &old, user, None, changes, message).await
    }

    /// Gives somebody a new password that counts once, is shown once, and has to be changed.
    pub async fn reset_password(&self, actor: &Actor, name: &str) -> Result<(User, Password), Error> {
        let action = "user.resetPassword";
        self.permit(actor, Permission::ManageUsers, action, &format!("user/{name}")).await?;
        let old = self.find_user(name).await?;
        if !old.origin.is_local() {
            return Err(Error::new(
                Code::Conflict,
                format!("{} logs in through another issuer and has no password here", old.username),
            ));
        }
        let (password, stored) = self.one_time_password().await?;
        let now = self.now();
        let user = User {
            must_change_password: true,
            version: old.version + 1,
            revision: old.revision + 1,
            updated_at: now,
            ..old.clone()
        };
        let changes = Changeset::new()
            .write(UserWrite::EndSessions { user: user.id, at: now })
            .write(UserWrite::Forgive(vec![attempts_of(&user)]));
        let message = format!("gave {} a one-time password", user.username);
        let user = self.write_user(actor, action, &old, user, Some(stored), changes, message).await?;
        Ok((user, password))
    }

    /// Somebody who was not deleted.
    pub(super) async fn find_user(&self, name: &str) -> Result<User, Error> {
        let found = match name.parse::<Username>() {
            Ok(name) => self.store().user_by_name(&name).await?,
            Err(_) => None,
        };
        found
            .filter(|user| user.state != UserState::Deleted)
            .ok_or_else(|| Error::not_found(Code::NotFound, "user", name))
    }

    async fn one_time_password(&self) -> Result<(Password, StoredPassword), Error> {
        let password = self.parts.identity.random_password()?;
        let hash = self.parts.identity.hash(&password).await?;
        let until = Some(after(self.now(), self.settings.identity.one_time_life));
        Ok((password, StoredPassword { hash, until }))
    }

    #[allow(clippy::too_many_arguments, reason = "one place writes every change of a user")]
    async fn write_user(
        &self,
        actor: &Actor,
        action: &str,
        old: &User,
        user: User,
        password: Option<StoredPassword>,
        changes: Changeset,
        message: String,
    ) -> Result<User, Error> {
        let entry = AuditEntry::done(actor, action, resource(&user), message)
            .changing(Some(shown(old)), Some(shown(&user)));
        let change = UserWrite::Change { user: Box::new(user.clone()), password };
        let written = self.store().commit(changes.write(change).audit(entry)).await;
        self.identity.forget();
        written.map_err(|error| refused_change(error, &user.username))?;
        Ok(user)
    }
}

/// What a refused change of somebody means.
pub(super) fn refused_change(error: StoreError, name: &Username) -> Error {
    match error {
        StoreError::Taken { constraint } if constraint == LAST_ADMIN => Error::new(
            Code::Conflict,
            format!("{name} is the last admin who can log in; make another one first"),
        ),
        other => other.into(),
    }
}

fn expect_revision(user: &User, revision: Option<i64>) -> Result<(), Error> {
    match revision {
        Some(revision) if revision != user.revision => Err(Error::new(
            Code::PreconditionFailed,
            format!("user {} changed meanwhile; read them again and repeat", user.username),
        )),
        _ => Ok(()),
    }
}

/// As the audit names somebody.
pub(crate) fn resource(user: &User) -> String {
    format!("user/{}", user.username)
}

/// What is counted against somebody's name.
pub(crate) fn attempts_of(user: &User) -> AttemptKey {
    AttemptKey::Name(user.username.to_string())
}
