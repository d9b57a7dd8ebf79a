//! Who a token belongs to, and whether it still counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::access::{Actor, Role};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::id::{SessionId, TokenId};
use slipway_domain::user::{ApiToken, TokenState, User, covers};

use super::after;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::identity::{Claims, TokenKind};
use crate::ports::store::Session;

/// No token of ours is longer.
const LONGEST: usize = 4096;
/// How exactly it is known when a token was used.
const COARSE: Duration = Duration::from_mins(5);

/// What was found behind a token a moment ago.
#[derive(Clone)]
pub(super) struct Remembered {
    behind: Arc<Behind>,
    read_at: Timestamp,
    changes: u64,
}

/// What is behind a token.
pub(super) enum Behind {
    /// Somebody who is logged in.
    Session(Session, User),
    /// A machine, and who answers for it.
    Machine(ApiToken, User),
    /// Nothing.
    Nothing,
}

/// Somebody whose token counts.
pub(super) struct Known {
    pub(super) actor: Actor,
    /// Their session and themselves; a machine has none.
    pub(super) session: Option<(Session, User)>,
}

/// Why a token that we signed does not count any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Over {
    #[error("the session has ended; log in again: slipway login")]
    Session,
    #[error("this account is disabled; ask an admin")]
    Disabled,
    #[error("what you may do has changed; log in again: slipway login")]
    Changed,
    #[error("the token was revoked; ask for a new one")]
    Revoked,
    #[error("the token has expired; make a new one: slipway token create")]
    Expired,
    #[error("the token's owner may not do that much any more; make a new one with a lower role")]
    Above,
}

impl Manager {
    /// Who a token belongs to. Source and trace are for the caller to fill in.
    pub async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        Ok(self.identify(bearer).await?.actor)
    }

    /// The same, with the session behind it.
    pub(super) async fn identify(&self, bearer: &str) -> Result<Known, Error> {
        let claims = self.read_token(bearer).await?;
        let behind = self.behind(&claims).await?;
        match self.judge(&claims, &behind) {
            Ok(known) => {
                self.note_use(&behind).await;
                Ok(known)
            }
            Err(over) => {
                self.note_refusal(&claims, &behind, over).await;
                Err(Error::new(Code::Unauthorized, over.to_string()))
            }
        }
    }

    /// What a token says, if it is ours and its time is now.
    async fn read_token(&self, bearer: &str) -> Result<Claims, Error> {
        let strange =
            || Error::new(Code::Unauthorized, "the token is not valid; log in again: slipway login");
        if bearer.len() > LONGEST {
            return Err(strange());
        }
        let key = self.parts.identity.key_of(bearer).map_err(|_| strange())?;
        let public = self.checking_key(&key).await?.ok_or_else(strange)?;
        let claims = self.parts.identity.read(bearer, &public).map_err(|_| strange())?;
        if claims.counts_at(self.now()) {
            Ok(claims)
        } else {
            Err(Error::new(Code::Unauthorized, "the token has expired; log in again: slipway login"))
        }
    }

    async fn behind(&self, claims: &Claims) -> Result<Arc<Behind>, Error> {
        let key = match claims.kind {
            TokenKind::Session => claims.sid.unwrap_or(claims.jti),
            TokenKind::Machine => claims.sub,
        };
        let now = self.now();
        let changes = self.identity.changes.load(Ordering::SeqCst);
        if let Some(known) = self.identity.standing.get(&key).await
            && known.changes == changes
            && now < after(known.read_at, self.settings.identity.standing_life)
        {
            return Ok(known.behind);
        }
        let behind = match claims.kind {
            TokenKind::Session => match self.store().session(SessionId(key)).await? {
                Some((session, user)) => Behind::Session(session, user),
                None => Behind::Nothing,
            },
            TokenKind::Machine => match self.store().token(TokenId(key)).await? {
                Some((token, owner)) => Behind::Machine(token, owner),
                None => Behind::Nothing,
            },
        };
        let behind = Arc::new(behind);
        let remembered = Remembered { behind: Arc::clone(&behind), read_at: now, changes };
        self.identity.standing.insert(key, remembered).await;
        Ok(behind)
    }

    fn judge(&self, claims: &Claims, behind: &Behind) -> Result<Known, Over> {
        let now = self.now();
        match behind {
            Behind::Nothing => Err(match claims.kind {
                TokenKind::Session => Over::Session,
                TokenKind::Machine => Over::Revoked,
            }),
            Behind::Session(session, user) => {
                if !user.is_enabled() {
                    Err(Over::Disabled)
                } else if session.ended_at.is_some() || session.ends_at <= now || user.id.0 != claims.sub {
                    Err(Over::Session)
                } else if user.version != claims.version {
                    Err(Over::Changed)
                } else {
                    Ok(Known { actor: user.actor(), session: Some((session.clone(), user.clone())) })
                }
            }
            Behind::Machine(token, owner) => match token.state(now) {
                TokenState::Revoked => Err(Over::Revoked),
                TokenState::Expired => Err(Over::Expired),
                TokenState::Active if !owner.is_enabled() => Err(Over::Disabled),
                TokenState::Active if !still_covered(owner, token) => Err(Over::Above),
                TokenState::Active => Ok(Known { actor: token.actor(), session: None }),
            },
        }
    }

    /// Notes about when a token was used. It is a convenience: that it cannot be noted refuses nobody.
    async fn note_use(&self, behind: &Behind) {
        let Behind::Machine(token, _) = behind else { return };
        let now = self.now();
        if token.last_used_at.is_some_and(|last| now < after(last, COARSE))
            || self.identity.used.get(&token.id.0).await.is_some()
        {
            return;
        }
        self.identity.used.insert(token.id.0, ()).await;
        if let Err(error) = self.store().token_used(token.id, now).await {
            tracing::debug!(%error, "it could not be noted that a token was used");
        }
    }

    /// Writes down that somebody who was known is refused, once in a while for each token.
    async fn note_refusal(&self, claims: &Claims, behind: &Behind, over: Over) {
        let (actor, resource) = match behind {
            Behind::Session(_, user) => (user.actor(), format!("user/{}", user.username)),
            Behind::Machine(token, _) => (token.actor(), format!("token/{}", token.name)),
            Behind::Nothing => return,
        };
        if self.identity.refused.get(&claims.jti).await.is_some() {
            return;
        }
        self.identity.refused.insert(claims.jti, ()).await;
        let entry = AuditEntry::new(
            &Actor { role: None, ..actor },
            "authentication.refuse",
            resource,
            AuditResult::Denied,
            over.to_string(),
        );
        if let Err(error) = self.store().commit(Changeset::new().audit(entry)).await {
            tracing::warn!(%error, "a refusal could not be written to the audit");
        }
    }
}

/// Whether a token allows no more than whoever made it has now.
fn still_covered(owner: &User, token: &ApiToken) -> bool {
    covers(owner.role, token.role)
        && (owner.role == Role::Admin
            || token.environments.iter().all(|environment| owner.environments.contains(environment)))
}
