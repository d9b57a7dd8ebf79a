//! Tokens of machines: made by people, never more than their maker, ended at once.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_domain::access::{Actor, ActorKind, Environment, Permission, Role};
use slipway_domain::audit::AuditEntry;
use slipway_domain::id::TokenId;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::user::{ApiToken, LONGEST_TOKEN_LIFE, User, covers, environments_for};
use uuid::Uuid;

use super::after;
use super::users::join;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::StoreError;
use crate::ports::identity::{Claims, TokenKind};
use crate::ports::store::{TOKEN_NAME, TokenFilter, UserWrite};

/// A token to be made, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What its maker calls it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The environments that it decides for, with that role.
    pub environments: Vec<Environment>,
    /// How long it lasts.
    pub life: Duration,
}

/// A token that was made: the one moment in which its secret is known.
pub struct MadeToken {
    /// What is kept.
    pub token: ApiToken,
    /// What the machine sends. It is secret.
    pub secret: String,
}

impl fmt::Debug for MadeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeToken").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A token, checked against what its maker may hand out.
pub fn made_token(maker: &User, new: &NewToken, now: Timestamp) -> Result<ApiToken, Problems> {
    let mut problems = Problems::new();
    let name = problems.take("name", new.name.parse::<Name>());
    let environments = environments_for(new.role, &new.environments)
        .map_err(|inner| join(&mut problems, &inner))
        .unwrap_or_default();
    if !covers(maker.role, new.role) {
        problems.add("role", format!("may not be {}: you are {} yourself", new.role, maker.role));
    } else if maker.role != Role::Admin
        && let Some(foreign) = environments.iter().find(|one| !maker.environments.contains(one))
    {
        problems.add("environments", format!("may not name {foreign}, which is not yours"));
    }
    if new.life < Duration::from_mins(1) || new.life > LONGEST_TOKEN_LIFE {
        problems.add("expiresAt", "has to be between a minute and a year from now");
    }
    let Some(name) = name else { return Err(problems) };
    problems.or(ApiToken {
        id: TokenId(Uuid::now_v7()),
        name,
        owner: maker.id,
        owner_name: maker.username.to_string(),
        role: new.role,
        environments,
        created_at: now,
        expires_at: after(now, new.life),
        revoked_at: None,
        last_used_at: None,
    })
}

impl Manager {
    /// Makes a token. Only a person can: a token that makes tokens could not be ended.
    pub async fn create_token(&self, actor: &Actor, new: &NewToken) -> Result<MadeToken, Error> {
        let action = "token.create";
        self.permit(actor, Permission::OwnAccount, action, "token").await?;
        let maker = self.person(actor).await?;
        let now = self.now();
        let token = made_token(&maker, new, now)?;
        let claims = Claims {
            sub: token.id.0,
            jti: token.id.0,
            kind: TokenKind::Machine,
            sid: None,
            role: token.role,
            environments: token.environments.clone(),
            version: 1,
            iss: Claims::ISSUER.to_owned(),
            aud: Claims::AUDIENCE.to_owned(),
            iat: now.as_second(),
            nbf: now.as_second(),
            exp: token.expires_at.as_second(),
        };
        let (key, private) = self.signing_key().await?;
        let secret = self.parts.identity.sign(&key, &private, &claims)?;
        let message = format!("made the token {} with the role {}", token.name, token.role);
        let entry = AuditEntry::done(actor, action, format!("token/{}", token.id), message).changing(
            None,
            Some(json!({
                "name": token.name,
                "role": token.role,
                "environments": token.environments,
                "expiresAt": token.expires_at,
            })),
        );
        let create = UserWrite::CreateToken { token: Box::new(token.clone()), key };
        self.store().commit(Changeset::new().write(create).audit(entry)).await.map_err(
            |error| match error {
                StoreError::Taken { constraint } if constraint == TOKEN_NAME => Error::new(
                    Code::Conflict,
                    format!(
                        "you have a token {} already; revoke it first, or choose another name",
                        token.name
                    ),
                ),
                other => other.into(),
            },
        )?;
        Ok(MadeToken { token, secret })
    }

    /// One's own tokens, or everybody's for whoever manages users. Their secrets are not among it.
    pub async fn list_tokens(
        &self,
        actor: &Actor,
        everybody: bool,
        window: Window,
    ) -> Result<Page<ApiToken>, Error> {
        let permission = if everybody { Permission::ManageUsers } else { Permission::OwnAccount };
        self.permit(actor, permission, "token.list", "token").await?;
        let owner = match actor.kind {
            _ if everybody => None,
            ActorKind::User { id } => Some(id),
            _ => return Err(Error::new(Code::Forbidden, "a machine's token has no tokens of its own")),
        };
        Ok(self.store().tokens(&TokenFilter { owner }, window).await?)
    }

    /// Ends a token at once: one's own, or anybody's for whoever manages users.
    pub async fn revoke_token(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        let action = "token.revoke";
        let resource = format!("token/{id}");
        self.permit(actor, Permission::OwnAccount, action, &resource).await?;
        let missing = || Error::not_found(Code::NotFound, "token", id);
        let id: TokenId = id.parse().map_err(|_| missing())?;
        let (token, _) = self.store().token(id).await?.ok_or_else(missing)?;
        let is_own =
            actor.kind == ActorKind::User { id: token.owner } || actor.kind == ActorKind::Token { id };
        if !is_own && !actor.may(Permission::ManageUsers) {
            // Whose tokens there are is nobody else's business.
            return Err(missing());
        }
        if token.revoked_at.is_some() {
            return Ok(());
        }
        let message = format!("revoked the token {} of {}", token.name, token.owner_name);
        let entry = AuditEntry::done(actor, action, resource, message);
        let revoke = UserWrite::RevokeToken { id, at: self.now() };
        self.store().commit(Changeset::new().write(revoke).audit(entry)).await?;
        self.identity.forget();
        Ok(())
    }
}
