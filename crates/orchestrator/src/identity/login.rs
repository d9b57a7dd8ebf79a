//! Logging in with a password, renewing, logging out.

use jiff::Timestamp;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::id::SessionId;
use slipway_domain::problem::Problems;
use slipway_domain::user::{BadPassword, LONGEST_PASSWORD, Turn, User, Username, check_password};
use uuid::Uuid;

use super::refusal::Refusal;
use super::{LoggedIn, after};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::identity::{Claims, Password, TokenKind};
use crate::ports::store::{AttemptKey, Session, StoredPassword, UserWrite};

impl Manager {
    /// Logs somebody in. `caller` is whoever asks, with their address. Somebody whose password has to be
    /// changed gives the new one along.
    ///
    /// Every way to fail does the same work and gives the same answer, whether the user exists, is locked or
    /// disabled, or the password is wrong.
    pub async fn login(
        &self,
        caller: &Actor,
        username: &str,
        password: &Password,
        new_password: Option<&Password>,
    ) -> Result<LoggedIn, Error> {
        typed(username, password)?;
        let now = self.now();
        let name = username.parse::<Username>().ok();
        let attempts = attempt_keys(name.as_ref(), caller);
        let turns = self.store().count_attempt(&attempts, now).await?;
        let found = match &name {
            Some(name) => self.store().user_with_password(name).await?,
            None => None,
        };
        let (user, stored) = found.unzip();
        let stored = stored.flatten();
        let right =
            self.parts.identity.is_password(password, stored.as_ref().map(|stored| &*stored.hash)).await?;
        let user = match let_in(user, stored.as_ref(), &attempts, &turns, right, now) {
            Ok(user) => user,
            Err((refusal, user)) => {
                self.audit_refusal(caller, user.as_ref(), refusal).await?;
                return Err(Refusal::outside());
            }
        };
        // The password was right: whatever is wrong beside it is no guess.
        let forgive = || Changeset::new().write(UserWrite::Forgive(attempts.clone()));
        let (user, changes) =
            match self.with_due_password(caller, user, password, new_password, forgive()).await {
                Ok(changed) => changed,
                Err(error) => {
                    self.store().commit(forgive()).await?;
                    return Err(error);
                }
            };
        self.start_session(caller, user, "with a password", changes).await
    }

    /// Takes a new password along where one is due, and only there.
    async fn with_due_password(
        &self,
        caller: &Actor,
        user: User,
        old: &Password,
        new: Option<&Password>,
        changes: Changeset,
    ) -> Result<(User, Changeset), Error> {
        match (user.must_change_password, new) {
            (false, None) => Ok((user, changes)),
            (true, Some(new)) if new.expose() == old.expose() => {
                Err(Problems::one("newPassword", BadPassword::Same).into())
            }
            (true, Some(new)) => {
                let (user, changes) = self.with_password(user, new, changes).await?;
                let said = "chose a password of their own in place of one that counted once";
                let resource = format!("user/{}", user.username);
                let entry = AuditEntry::done(&own(&user, caller), "user.changePassword", resource, said);
                Ok((user, changes.audit(entry)))
            }
            (true, None) => Err(Error::new(
                Code::PasswordChangeRequired,
                "this password counts once; log in with it again and a new one beside it (newPassword)",
            )),
            (false, Some(_)) => Err(Problems::one(
                "newPassword",
                "is for a password that has to be changed; change yours once you are logged in",
            )
            .into()),
        }
    }

    /// A new token for the session that this one belongs to.
    pub async fn refresh_session(&self, bearer: &str) -> Result<LoggedIn, Error> {
        match self.identify(bearer).await?.session {
            Some((session, user)) => self.sign_in(&session, user).await,
            None => Err(no_session()),
        }
    }

    /// Ends the session that a token belongs to; all its tokens end with it.
    pub async fn logout(&self, caller: &Actor, bearer: &str) -> Result<(), Error> {
        let Some((session, user)) = self.identify(bearer).await?.session else { return Err(no_session()) };
        let entry = AuditEntry::done(caller, "user.logout", format!("user/{}", user.username), "logged out");
        let end = UserWrite::EndSession { id: session.id, at: self.now() };
        self.store().commit(Changeset::new().write(end).audit(entry)).await?;
        self.identity.forget();
        Ok(())
    }

    /// Changes one's own password. All sessions end; the caller gets a new one.
    pub async fn change_password(
        &self,
        caller: &Actor,
        current: &Password,
        new: &Password,
    ) -> Result<LoggedIn, Error> {
        let action = "user.changePassword";
        self.permit(caller, Permission::OwnAccount, action, &format!("user/{}", caller.name)).await?;
        let user = self.person(caller).await?;
        if !user.origin.is_local() {
            return Err(Error::new(
                Code::Conflict,
                format!("{} logs in through another issuer; the password is changed there", user.username),
            ));
        }
        let attempts = vec![AttemptKey::Name(user.username.to_string())];
        let turns = self.store().count_attempt(&attempts, self.now()).await?;
        let (_, stored) = self.store().user_with_password(&user.username).await?.unzip();
        let stored = stored.flatten();
        let right =
            self.parts.identity.is_password(current, stored.as_ref().map(|stored| &*stored.hash)).await?;
        let is_locked = turns.iter().any(|turn| matches!(turn, Turn::Locked { .. }));
        if !right || is_locked {
            let refusal = match turns.first() {
                Some(Turn::Locked { until }) => Refusal::NameLocked(*until),
                _ => Refusal::Password,
            };
            self.audit_refusal(caller, Some(&user), refusal).await?;
            return Err(Problems::one("currentPassword", "is wrong").into());
        }
        if current.expose() == new.expose() {
            return Err(Problems::one("newPassword", BadPassword::Same).into());
        }
        let changes = Changeset::new().write(UserWrite::Forgive(attempts));
        let (user, changes) = self.with_password(user, new, changes).await?;
        let entry =
            AuditEntry::done(caller, action, format!("user/{}", user.username), "changed the password");
        self.start_session(caller, user, "with the new password", changes.audit(entry)).await
    }

    /// The user behind somebody who acts; a machine is none.
    pub(super) async fn person(&self, actor: &Actor) -> Result<User, Error> {
        let slipway_domain::access::ActorKind::User { id } = actor.kind else {
            return Err(Error::new(Code::Forbidden, "only a person can do this, not a machine's token"));
        };
        let user = self.store().user(id).await?;
        user.ok_or_else(|| Error::not_found(Code::NotFound, "user", &actor.name))
    }

    /// Who one is.
    pub async fn me(&self, actor: &Actor) -> Result<Option<User>, Error> {
        self.permit(actor, Permission::OwnAccount, "user.me", &format!("user/{}", actor.name)).await?;
        match actor.kind {
            slipway_domain::access::ActorKind::User { id } => Ok(self.store().user(id).await?),
            _ => Ok(None),
        }
    }

    /// Gives a user a password of their own choice; whatever counted before does not any more.
    async fn with_password(
        &self,
        mut user: User,
        new: &Password,
        changes: Changeset,
    ) -> Result<(User, Changeset), Error> {
        let mut problems = Problems::new();
        problems.take("newPassword", check_password(&user.username, new.expose()));
        problems.or(())?;
        let hash = self.parts.identity.hash(new).await?;
        let now = self.now();
        user.must_change_password = false;
        user.version += 1;
        user.revision += 1;
        user.updated_at = now;
        let password = Some(StoredPassword { hash, until: None });
        let changes = changes
            .write(UserWrite::Change { user: Box::new(user.clone()), password })
            .write(UserWrite::EndSessions { user: user.id, at: now });
        Ok((user, changes))
    }

    /// Lets somebody in who has proven who they are, with all that changes with it.
    pub(super) async fn start_session(
        &self,
        caller: &Actor,
        user: User,
        how: &str,
        changes: Changeset,
    ) -> Result<LoggedIn, Error> {
        let now = self.now();
        let session = Session {
            id: SessionId(Uuid::new_v4()),
            user: user.id,
            started_at: now,
            ends_at: after(now, self.settings.identity.session_life),
            ended_at: None,
        };
        // Before anything is written: without a token there is no login.
        let logged_in = self.sign_in(&session, user).await?;
        let user = &logged_in.user;
        let resource = format!("user/{}", user.username);
        let entry = AuditEntry::done(&own(user, caller), "user.login", resource, format!("logged in {how}"));
        self.store().commit(changes.write(UserWrite::StartSession(session)).audit(entry)).await?;
        self.identity.forget();
        Ok(logged_in)
    }

    async fn sign_in(&self, session: &Session, user: User) -> Result<LoggedIn, Error> {
        let now = self.now();
        let expires_at = after(now, self.settings.identity.token_life).min(session.ends_at);
        let claims = Claims {
            sub: user.id.0,
            jti: Uuid::new_v4(),
            kind: TokenKind::Session,
            sid: Some(session.id.0),
            role: user.role,
            environments: user.environments.clone(),
            version: user.version,
            iss: Claims::ISSUER.to_owned(),
            aud: Claims::AUDIENCE.to_owned(),
            iat: now.as_second(),
            nbf: now.as_second(),
            exp: expires_at.as_second(),
        };
        let (key, private) = self.signing_key().await?;
        let token = self.parts.identity.sign(&key, &private, &claims)?;
        let expires_at = Timestamp::from_second(claims.exp).unwrap_or(expires_at);
        Ok(LoggedIn { token, expires_at, session_ends_at: session.ends_at, user })
    }

    /// Writes down who was not let in, and why.
    pub(super) async fn audit_refusal(
        &self,
        caller: &Actor,
        user: Option<&User>,
        refusal: Refusal,
    ) -> Result<(), Error> {
        let resource = Refusal::resource(user);
        let entry =
            AuditEntry::new(caller, "user.login", resource, AuditResult::Failure, refusal.to_string());
        Ok(self.store().commit(Changeset::new().audit(entry)).await?)
    }
}

/// Somebody who has proven who they are, from where whoever asked is.
fn own(user: &User, caller: &Actor) -> Actor {
    Actor { source: caller.source.clone(), trace_id: caller.trace_id.clone(), ..user.actor() }
}

/// Whether something was typed at all.
fn typed(username: &str, password: &Password) -> Result<(), Problems> {
    let mut problems = Problems::new();
    if username.is_empty() {
        problems.add("username", "is empty");
    } else if username.len() > 256 {
        problems.add("username", "is longer than 256 bytes");
    }
    if password.expose().is_empty() {
        problems.add("password", "is empty");
    } else if password.expose().len() > LONGEST_PASSWORD {
        problems.add("password", BadPassword::Long);
    }
    problems.or(())
}

/// Whose attempts a login counts for. What cannot be a name counts together.
fn attempt_keys(name: Option<&Username>, caller: &Actor) -> Vec<AttemptKey> {
    let name = name.map_or_else(|| "-".to_owned(), ToString::to_string);
    let source = caller.source.clone().map(AttemptKey::Source);
    std::iter::once(AttemptKey::Name(name)).chain(source).collect()
}

/// Who is let in, or why not.
#[expect(clippy::result_large_err, reason = "what is refused is read once, where it is called")]
fn let_in(
    user: Option<User>,
    stored: Option<&StoredPassword>,
    attempts: &[AttemptKey],
    turns: &[Turn],
    right: bool,
    now: Timestamp,
) -> Result<User, (Refusal, Option<User>)> {
    let locked = attempts.iter().zip(turns).find_map(|(key, turn)| match (key, turn) {
        (AttemptKey::Name(_), Turn::Locked { until }) => Some(Refusal::NameLocked(*until)),
        (AttemptKey::Source(_), Turn::Locked { until }) => Some(Refusal::SourceLocked(*until)),
        (_, Turn::Heard(_)) => None,
    });
    if let Some(refusal) = locked {
        return Err((refusal, user));
    }
    let Some(user) = user else { return Err((Refusal::NoUser, None)) };
    let refusal = match stored {
        _ if !user.is_enabled() => Refusal::Disabled,
        None => Refusal::NoPassword,
        Some(_) if !right => Refusal::Password,
        Some(StoredPassword { until: Some(until), .. }) if *until <= now => Refusal::OneTimeOver(*until),
        Some(_) => return Ok(user),
    };
    Err((refusal, Some(user)))
}

fn no_session() -> Error {
    Error::new(Code::Conflict, "a machine's token has no session; end it with: slipway token revoke")
}
