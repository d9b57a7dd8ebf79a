//! The first person on an empty database.

use slipway_domain::access::{Actor, Role};
use slipway_domain::audit::AuditEntry;
use slipway_domain::problem::Problems;
use slipway_domain::user::check_password;

use super::users::{NewUser, UserChange, new_user};
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::identity::Password;
use crate::ports::store::{StoredPassword, USERNAME, UserWrite};

/// What the first admin is called.
pub const FIRST_ADMIN: &str = "admin";

impl Manager {
    /// Makes an admin if there was never anybody. Without a chosen password it makes one that counts once, and
    /// gives it back to be shown; nothing comes back where there was nothing to do. Several servers may start
    /// at once: one makes it.
    pub async fn ensure_admin(&self, chosen: Option<&Password>) -> Result<Option<Password>, Error> {
        if self.store().has_users().await? {
            return Ok(None);
        }
        let new = NewUser {
            username: FIRST_ADMIN.to_owned(),
            rest: UserChange { full_name: None, email: None, role: Role::Admin, environments: Vec::new() },
        };
        let mut user = new_user(&new, self.now())?;
        let made = match chosen {
            Some(chosen) => {
                let mut problems = Problems::new();
                problems.take("the admin's password", check_password(&user.username, chosen.expose()));
                problems.or(())?;
                None
            }
            None => Some(self.parts.identity.random_password()?),
        };
        user.must_change_password = made.is_some();
        let hash = match made.as_ref().or(chosen) {
            Some(password) => self.parts.identity.hash(password).await?,
            None => return Ok(None),
        };
        let actor = Actor::system("start");
        let entry =
            AuditEntry::done(&actor, "user.create", format!("user/{FIRST_ADMIN}"), "made the first admin");
        let password = Some(StoredPassword { hash, until: None });
        let create = UserWrite::Create { user: Box::new(user), password };
        match self.store().commit(Changeset::new().write(create).audit(entry)).await {
            Ok(()) => Ok(made),
            Err(StoreError::Taken { constraint }) if constraint == USERNAME => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
