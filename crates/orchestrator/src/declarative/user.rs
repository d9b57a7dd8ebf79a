//! People as documents: those who log in with a password of ours. Others get their role where they log in.
//!
//! No password is in a file. Somebody new has none, until an admin gives them one.

use serde_json::{Value, json};
use slipway_domain::access::{Actor, Environment, Role};
use slipway_domain::audit::AuditEntry;
use slipway_domain::document::{Document, Fields, Kind};
use slipway_domain::problem::Problems;
use slipway_domain::user::{User, UserState, Username};

use super::{Planned, below_spec};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::identity::{NewUser, UserChange, attempts_of, changed_user, new_user, shown_user, user_resource};
use crate::manager::Manager;
use crate::page::Window;
use crate::ports::store::{UserFilter, UserWrite};

/// What a document wants of somebody.
struct Desired {
    change: UserChange,
    state: UserState,
}

impl Manager {
    pub(super) async fn user_documents(&self) -> Result<Vec<Document>, Error> {
        let mut users = Vec::new();
        loop {
            let window = Window { limit: Window::MOST, offset: users.len() as u64 };
            let page = self.store().users(&UserFilter::default(), window).await?;
            let more = page.has_more();
            users.extend(page.items);
            if !more {
                break;
            }
        }
        users.retain(|user| user.origin.is_local() && user.state != UserState::Deleted);
        users.sort_by(|a, b| a.username.cmp(&b.username));
        Ok(users
            .iter()
            .map(|user| Document { kind: Kind::User, name: user.username.to_string(), spec: spec(user) })
            .collect())
    }

    pub(super) async fn plan_user(
        &self,
        actor: &Actor,
        document: &Document,
    ) -> Result<Result<Planned, Problems>, Error> {
        let mut problems = Problems::new();
        let name = problems.take("metadata.name", username(&document.name));
        let before = match &name {
            Some(name) => self.store().user_by_name(name).await?,
            None => None,
        };
        if before.as_ref().is_some_and(|user| user.state == UserState::Deleted) {
            problems.add("metadata.name", "was the name of somebody who was deleted, and is not given again");
        }
        let desired = match Desired::read(&document.spec) {
            Ok(desired) => desired,
            Err(inner) => {
                problems.nest("spec", inner);
                return Ok(Err(problems));
            }
        };
        let planned = match &before {
            None => self.made(actor, &document.name, desired),
            Some(before) => self.changed_by_document(actor, before, &desired),
        };
        match planned {
            Ok(planned) => Ok(problems.or(planned)),
            Err(error) if error.code == Code::ValidationError => {
                // The name was looked at already.
                problems.nest("spec", below_spec(&error.details, &["username"]));
                Ok(Err(problems))
            }
            Err(error) => Err(error),
        }
    }

    fn made(&self, actor: &Actor, name: &str, desired: Desired) -> Result<Planned, Error> {
        let new = NewUser { username: name.to_owned(), rest: desired.change };
        let user = User { state: desired.state, ..new_user(&new, self.now())? };
        let entry = AuditEntry::done(
            actor,
            "user.create",
            user_resource(&user),
            format!("made {}, without a password yet", user.username),
        )
        .changing(None, Some(shown_user(&user)));
        let after = spec(&user);
        let write = UserWrite::Create { user: Box::new(user), password: None };
        Ok(Planned { before: None, after, changes: Changeset::new().write(write).audit(entry) })
    }

    fn changed_by_document(&self, actor: &Actor, before: &User, desired: &Desired) -> Result<Planned, Error> {
        let now = self.now();
        let mut user = changed_user(before, &desired.change, now)?;
        let mut changes = Changeset::new();
        if desired.state != before.state {
            user.state = desired.state;
            // Once, whatever else changes: what counted before must not count any more.
            user.version = before.version + 1;
            changes = changes.write(match desired.state {
                UserState::Enabled => UserWrite::Forgive(vec![attempts_of(&user)]),
                _ => UserWrite::EndSessions { user: user.id, at: now },
            });
        }
        let entry = AuditEntry::done(
            actor,
            "user.update",
            user_resource(&user),
            format!("changed {}", user.username),
        )
        .changing(Some(shown_user(before)), Some(shown_user(&user)));
        let after = spec(&user);
        let changes = changes.write(UserWrite::Change { user: Box::new(user), password: None }).audit(entry);
        Ok(Planned { before: Some(spec(before)), after, changes })
    }
}

/// The name of a local user, written as it is kept.
fn username(text: &str) -> Result<Username, String> {
    if text.contains(':') {
        let message =
            "is of somebody whom another issuer vouches for; what they may is decided by their groups there";
        return Err(message.to_owned());
    }
    let name = Username::local(text).map_err(|error| error.to_string())?;
    if name.as_str() == text { Ok(name) } else { Err(format!("has to be in lower case: {name}")) }
}

/// What is there, as the `spec` of a document; what is as usual is left out.
fn spec(user: &User) -> Value {
    let mut spec = json!({"role": user.role});
    if !user.environments.is_empty() {
        spec["environments"] = json!(user.environments);
    }
    if let Some(name) = &user.full_name {
        spec["fullName"] = json!(name);
    }
    if let Some(email) = &user.email {
        spec["email"] = json!(email);
    }
    if user.state == UserState::Disabled {
        spec["disabled"] = json!(true);
    }
    spec
}

impl Desired {
    fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let role: Option<Role> = fields.required("role");
        let environments: Vec<Environment> = fields.optional("environments").unwrap_or_default();
        let full_name = fields.optional("fullName");
        let email = fields.optional("email");
        let disabled = fields.optional("disabled").unwrap_or(false);
        fields.end();
        let state = if disabled { UserState::Disabled } else { UserState::Enabled };
        match role {
            Some(role) => {
                problems.or(Self { change: UserChange { full_name, email, role, environments }, state })
            }
            None => Err(problems),
        }
    }
}
