//! The keys that sign tokens: shared by all servers, made anew from time to time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{IdentitySettings, after};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::{KEY_NUMBER, SigningKey, UserWrite};

/// How long the keys are remembered; shorter than the lead with which a new one is made.
const REMEMBERED: Duration = Duration::from_mins(1);
/// How often a key that is not known makes a server look again, whoever asks.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The keys as they were read.
#[derive(Debug)]
pub(super) struct KeySet {
    read_at: Timestamp,
    /// The oldest first.
    keys: Vec<SigningKey>,
}

impl KeySet {
    /// The key that signs: the newest whose time has come.
    fn signing(&self, now: Timestamp) -> Option<&SigningKey> {
        self.keys.iter().rev().find(|key| key.active_from <= now).or(self.keys.first())
    }
}

/// The number of the next key and when it begins to sign, if it is time to make it. It is made before it is
/// used, so that every server knows it by then.
fn next_key(
    newest: Option<&SigningKey>,
    now: Timestamp,
    settings: &IdentitySettings,
) -> Option<(i64, Timestamp)> {
    let Some(newest) = newest else { return Some((1, now)) };
    let turn = after(newest.active_from, settings.key_life);
    let ready = after(now, settings.key_lead);
    (turn <= ready).then(|| (newest.number + 1, turn.max(ready)))
}

impl Manager {
    /// The key that checks tokens that name it.
    pub(super) async fn checking_key(&self, id: &str) -> Result<Option<Vec<u8>>, Error> {
        let find = |set: &KeySet| set.keys.iter().find(|key| key.id == id).map(|key| key.public.clone());
        let set = self.key_set().await?;
        if let Some(public) = find(&set) {
            return Ok(Some(public));
        }
        if !set.keys.is_empty() && self.now() < after(set.read_at, LOOK_AGAIN) {
            return Ok(None);
        }
        Ok(find(&*self.read_keys().await?))
    }

    /// The key that signs now, opened.
    pub(super) async fn signing_key(&self) -> Result<(String, Zeroizing<Vec<u8>>), Error> {
        self.rotate_keys().await?;
        let set = self.key_set().await?;
        let key = set
            .signing(self.now())
            .ok_or_else(|| Error::new(Code::InternalError, "there is no key to sign tokens with"))?;
        let private = self.parts.keyring.open(&context(&key.id), &key.sealed).map_err(|error| {
            Error::new(
                Code::InternalError,
                format!("tokens cannot be signed: the signing key {} cannot be opened", key.id),
            )
            .caused_by(error)
        })?;
        Ok((key.id.clone(), private))
    }

    /// Makes the next key if it is time. Several servers may try at once; one succeeds.
    pub(super) async fn rotate_keys(&self) -> Result<(), Error> {
        let set = self.key_set().await?;
        let settings = &self.settings.identity;
        if next_key(set.keys.last(), self.now(), settings).is_none() {
            return Ok(());
        }
        // Another server may have made it since they were read.
        let set = self.read_keys().await?;
        let Some((number, active_from)) = next_key(set.keys.last(), self.now(), settings) else {
            return Ok(());
        };
        let id = Uuid::now_v7().simple().to_string();
        let pair = self.parts.identity.new_key()?;
        let sealed = self.parts.keyring.seal(&context(&id), &pair.private).map_err(|error| {
            Error::new(Code::InternalError, "a new signing key cannot be sealed").caused_by(error)
        })?;
        let key = SigningKey { id, number, public: pair.public, sealed, active_from };
        match self.store().commit(Changeset::new().write(UserWrite::AddKey(key))).await {
            Ok(()) => tracing::info!(number, %active_from, "made a key to sign tokens with"),
            Err(StoreError::Taken { constraint }) if constraint == KEY_NUMBER => {}
            Err(error) => return Err(error.into()),
        }
        self.read_keys().await.map(drop)
    }

    /// Seals keys anew that were sealed with an older key of the keyring.
    pub(super) async fn reseal_keys(&self) -> Result<(), Error> {
        for key in &self.read_keys().await?.keys {
            if !self.parts.keyring.is_old(&key.sealed) {
                continue;
            }
            let context = context(&key.id);
            let opened = self.parts.keyring.open(&context, &key.sealed);
            let sealed = opened.and_then(|private| self.parts.keyring.seal(&context, &private));
            match sealed {
                Ok(sealed) => {
                    let write = UserWrite::ResealKey { id: key.id.clone(), sealed };
                    self.store().commit(Changeset::new().write(write)).await?;
                }
                Err(error) => tracing::warn!(key = key.id, %error, "a signing key cannot be sealed anew"),
            }
        }
        Ok(())
    }

    async fn key_set(&self) -> Result<Arc<KeySet>, Error> {
        let remembered = self.identity.keys.read().ok().and_then(|keys| keys.clone());
        match remembered {
            Some(set) if self.now() < after(set.read_at, REMEMBERED) => Ok(set),
            _ => self.read_keys().await,
        }
    }

    async fn read_keys(&self) -> Result<Arc<KeySet>, Error> {
        let read_at = self.now();
        let set = Arc::new(KeySet { read_at, keys: self.store().signing_keys().await? });
        if let Ok(mut keys) = self.identity.keys.write() {
            *keys = Some(Arc::clone(&set));
        }
        Ok(set)
    }
}

fn context(id: &str) -> String {
    format!("signing-key/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
    }

    fn key(number: i64, active_from: Timestamp) -> SigningKey {
        SigningKey { id: number.to_string(), number, public: vec![], sealed: vec![], active_from }
    }

    #[test]
    fn a_key_is_made_before_it_signs() {
        let settings = IdentitySettings::default();
        let month = 30 * 24;
        assert_eq!(next_key(None, at(0), &settings), Some((1, at(0))));
        let first = key(1, at(0));
        assert_eq!(next_key(Some(&first), at(month - 2), &settings), None);
        assert_eq!(next_key(Some(&first), at(month - 1), &settings), Some((2, at(month))));
        // A server that slept for a year still gives the others time to learn of it.
        assert_eq!(next_key(Some(&first), at(9000), &settings), Some((2, at(9001))));
    }

    #[test]
    fn the_newest_key_whose_time_has_come_signs() {
        let set = KeySet { read_at: at(0), keys: vec![key(1, at(0)), key(2, at(10))] };
        assert_eq!(set.signing(at(9)).unwrap().number, 1);
        assert_eq!(set.signing(at(10)).unwrap().number, 2);
        assert_eq!(set.signing(at(-5)).unwrap().number, 1, "a clock that is behind");
    }
}
