//! argon2id, with the parameters that OWASP gives: 19 MiB, two passes, one lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use slipway_orchestrator::ports::identity::{IdentityError, Password};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use zeroize::Zeroizing;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// How long a login waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most that are worked on at once: each takes a core, and the memory above.
const MOST_AT_ONCE: usize = 8;

/// What is easily told apart when it is read aloud or typed.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

pub(super) struct Argon2id {
    hasher: Argon2<'static>,
    /// What a password is compared with where there is nothing to compare it with.
    nobody: String,
    turns: Arc<Semaphore>,
    work: Arc<AtomicU64>,
}

fn failed(doing: &'static str) -> impl FnOnce(argon2::password_hash::Error) -> IdentityError {
    move |error| IdentityError::defect(doing, error.to_string())
}

impl Argon2id {
    pub(super) fn new() -> Result<Self, IdentityError> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
            .map_err(|error| IdentityError::defect("set argon2 up", error.to_string()))?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody =
            hasher.hash_password(random()?.expose().as_bytes()).map_err(failed("hash a password"))?;
        let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
        Ok(Self {
            nobody: nobody.to_string(),
            hasher,
            turns: Arc::new(Semaphore::new(at_once)),
            work: Arc::default(),
        })
    }

    pub(super) fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    pub(super) async fn hash(&self, password: &Password) -> Result<String, IdentityError> {
        self.apart(password, "hash a password", |hasher, password| {
            hasher.hash_password(password.expose().as_bytes()).map(|hash| hash.to_string())
        })
        .await
    }

    pub(super) async fn is_password(
        &self,
        password: &Password,
        hash: Option<&str>,
    ) -> Result<bool, IdentityError> {
        let exists = hash.is_some();
        let hash = hash.unwrap_or(&self.nobody).to_owned();
        let fits = self
            .apart(password, "check a password", move |hasher, password| {
                let hash = PasswordHash::new(&hash)?;
                match hasher.verify_password(password.expose().as_bytes(), &hash) {
                    Ok(()) => Ok(true),
                    Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                    Err(error) => Err(error),
                }
            })
            .await?;
        Ok(fits && exists)
    }

    /// Works on a thread where waiting does not hold others up, a few at once.
    async fn apart<T: Send + 'static>(
        &self,
        password: &Password,
        doing: &'static str,
        work: impl FnOnce(&Argon2<'static>, &Password) -> Result<T, argon2::password_hash::Error> + Send + 'static,
    ) -> Result<T, IdentityError> {
        let Ok(Ok(turn)) = timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await else {
            return Err(IdentityError::Busy);
        };
        self.work.fetch_add(1, Ordering::Relaxed);
        let hasher = self.hasher.clone();
        let password = password.clone();
        tokio::task::spawn_blocking(move || {
            let done = work(&hasher, &password);
            drop(turn);
            done
        })
        .await
        .map_err(|error| IdentityError::defect(doing, error))?
        .map_err(failed(doing))
    }
}

/// Five groups of four: a hundred bits.
pub(super) fn random() -> Result<Password, IdentityError> {
    let mut bytes = Zeroizing::new([0_u8; 20]);
    SystemRandom::new()
        .fill(&mut *bytes)
        .map_err(|_| IdentityError::defect("make a password", "there is no randomness"))?;
    let mut text = String::with_capacity(24);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push('-');
        }
        text.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    Ok(Password::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_password_that_was_hashed_fits() {
        let argon2 = Argon2id::new().unwrap();
        let right = Password::new("correct horse battery");
        let hash = argon2.hash(&right).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(argon2.is_password(&right, Some(&hash)).await.unwrap());
        assert!(!argon2.is_password(&Password::new("correct horse batterz"), Some(&hash)).await.unwrap());
        assert!(!argon2.is_password(&right, None).await.unwrap());
        assert_eq!(argon2.work(), 4, "nobody costs as much as somebody");
        assert_ne!(hash, argon2.hash(&right).await.unwrap(), "each has its own salt");
    }

    #[test]
    fn a_random_password_passes_the_rules_and_is_not_printed() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(one.expose().len(), 24);
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
