//! AES-256-GCM for what must not be read in the database.
//!
//! What is sealed begins with the id of its key, so keys can be changed without touching every row at once:
//! the newest seals, the others still open. Keys come from a file or from the environment; a Vault could be
//! a further source behind the same port.

mod keys;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use slipway_orchestrator::ports::Keyring;
use slipway_orchestrator::ports::keyring::KeyringError;
use zeroize::{Zeroize, Zeroizing};

pub use keys::{KEYRING_VARIABLE, KeySource, KeysError};

/// What comes first, so that another layout can follow one day.
const LAYOUT: u8 = 1;

/// The bytes of a key's id.
const ID: usize = 8;

/// Layout, id of the key, nonce: what stands before the sealed text.
const HEADER: usize = 1 + ID;

/// Seals with AES-256-GCM and a random nonce of 96 bits. A key serves for some four billion sealings before
/// nonces could repeat; a fleet of a hundred clusters needs a few hundred a day.
pub struct AesKeyring {
    /// The newest is the last; there is one at least.
    keys: Vec<Key>,
}

struct Key {
    id: [u8; ID],
    cipher: RandomizedNonceKey,
}

impl AesKeyring {
    /// From where the keys are kept; a file that is not there is made, with a fresh key.
    pub fn load(source: &KeySource) -> Result<Self, KeysError> {
        let keys = source.read()?.iter().map(|key| Key::new(key)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { keys })
    }

    /// The id of the key that seals.
    pub fn newest(&self) -> String {
        self.keys.last().map(|key| hexadecimal(&key.id)).unwrap_or_default()
    }

    fn key(&self, id: &[u8]) -> Result<&Key, KeyringError> {
        self.keys.iter().find(|key| key.id == id).ok_or_else(|| KeyringError::UnknownKey(hexadecimal(id)))
    }
}

impl Key {
    fn new(bytes: &[u8; 32]) -> Result<Self, KeysError> {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| KeysError::Cipher)?;
        Ok(Self { id: keys::id(bytes), cipher })
    }
}

impl Keyring for AesKeyring {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, KeyringError> {
        let key = self.keys.last().ok_or_else(|| KeyringError::Unusable("there is none".to_owned()))?;
        let mut header = [LAYOUT; HEADER];
        header[1..].copy_from_slice(&key.id);
        // Room for the tag from the start: growing would leave a copy of the plain text behind.
        let mut text = Vec::with_capacity(plain.len() + AES_256_GCM.tag_len());
        text.extend_from_slice(plain);
        let aad = Aad::from(bound(&header, context));
        let Ok(nonce) = key.cipher.seal_in_place_append_tag(aad, &mut text) else {
            text.zeroize();
            return Err(KeyringError::Unusable("encrypting failed".to_owned()));
        };
        Ok([header.as_slice(), nonce.as_ref().as_slice(), &text].concat())
    }

    fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
        let (header, rest) = sealed.split_at_checked(HEADER).ok_or(KeyringError::Damaged)?;
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or(KeyringError::Damaged)?;
        if header[0] != LAYOUT {
            return Err(KeyringError::Damaged);
        }
        let key = self.key(&header[1..])?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| KeyringError::Damaged)?;
        let mut text = Zeroizing::new(text.to_vec());
        let length = key
            .cipher
            .open_in_place(nonce, Aad::from(bound(header, context)), &mut text)
            .map_err(|_| KeyringError::Damaged)?
            .len();
        text.truncate(length);
        Ok(text)
    }

    fn is_old(&self, sealed: &[u8]) -> bool {
        let newest = self.keys.last().map(|key| key.id.as_slice());
        sealed.get(1..HEADER) != newest
    }
}

impl std::fmt::Debug for AesKeyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<_> = self.keys.iter().map(|key| hexadecimal(&key.id)).collect();
        f.debug_struct("AesKeyring").field("keys", &ids).finish()
    }
}

/// What a sealed text is bound to: its header and its context.
fn bound(header: &[u8], context: &str) -> Vec<u8> {
    [header, context.as_bytes()].concat()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a token that nobody may read";

    fn text(fill: &[u8]) -> String {
        use base64::Engine as _;
        let keys = fill.iter().map(|byte| base64::engine::general_purpose::STANDARD.encode([*byte; 32]));
        keys.collect::<Vec<_>>().join(",")
    }

    fn keyring(fill: &[u8]) -> AesKeyring {
        AesKeyring::load(&KeySource::Text(text(fill).into())).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_in_its_context_only() {
        let keyring = keyring(&[1]);
        let sealed = keyring.seal("cluster/a", SECRET).unwrap();
        assert_eq!(*keyring.open("cluster/a", &sealed).unwrap(), SECRET);
        assert_eq!(keyring.open("cluster/b", &sealed), Err(KeyringError::Damaged));
        assert!(!sealed.windows(5).any(|part| SECRET.windows(5).any(|secret| secret == part)));
        assert_ne!(keyring.seal("cluster/a", SECRET).unwrap(), sealed, "each sealing has its own nonce");
    }

    #[test]
    fn whatever_byte_is_changed_it_does_not_open() {
        let keyring = keyring(&[1]);
        let sealed = keyring.seal("cluster/a", SECRET).unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(keyring.open("cluster/a", &changed).is_err(), "byte {index}");
        }
        for length in 0..sealed.len() {
            assert!(keyring.open("cluster/a", &sealed[..length]).is_err(), "the first {length} bytes");
        }
    }

    #[test]
    fn another_key_does_not_open_it_and_says_which_is_missing() {
        let (one, two) = (keyring(&[1]), keyring(&[2]));
        let sealed = one.seal("cluster/a", SECRET).unwrap();
        assert_eq!(two.open("cluster/a", &sealed), Err(KeyringError::UnknownKey(one.newest())));
    }

    #[test]
    fn the_newest_key_seals_and_older_ones_still_open() {
        let (old, both) = (keyring(&[1]), keyring(&[1, 2]));
        let sealed = old.seal("cluster/a", SECRET).unwrap();
        assert_eq!(*both.open("cluster/a", &sealed).unwrap(), SECRET);
        assert!(both.is_old(&sealed) && !old.is_old(&sealed));
        let again = both.seal("cluster/a", SECRET).unwrap();
        assert!(!both.is_old(&again));
        assert!(matches!(old.open("cluster/a", &again), Err(KeyringError::UnknownKey(_))));
    }

    #[test]
    fn nothing_of_a_key_is_shown() {
        let shown = format!("{:?} {:?}", keyring(&[7]), KeySource::Text(text(&[7]).into()));
        assert!(!shown.contains(&text(&[7])) && !shown.contains("0707"), "{shown}");
    }
}
