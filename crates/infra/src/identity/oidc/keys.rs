//! The keys of an issuer: remembered, and asked for again when a token names one that is not known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::Jwk;
use serde_json::Value;
use tokio::sync::Mutex;

/// How long they are remembered.
const REMEMBERED: Duration = Duration::from_hours(1);
/// How often a key that is not known makes us ask again: whoever sends tokens must not make us send requests.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// More keys than any issuer has.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Keys {
    known: Mutex<Option<(Instant, Arc<Vec<Jwk>>)>>,
}

impl Keys {
    /// The keys, with this one among them if the issuer has it.
    pub(super) async fn with<F: Future<Output = Result<Value, String>>>(
        &self,
        kid: Option<&str>,
        ask: impl FnOnce() -> F,
    ) -> Result<Arc<Vec<Jwk>>, String> {
        let mut known = self.known.lock().await;
        if let Some((at, keys)) = known.as_ref() {
            let has = kid.is_none_or(|kid| keys.iter().any(|key| key.common.key_id.as_deref() == Some(kid)));
            let age = at.elapsed();
            if (has && age < REMEMBERED) || (!has && age < ASK_AGAIN) {
                return Ok(Arc::clone(keys));
            }
        }
        let keys = Arc::new(read(&ask().await?)?);
        *known = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}

/// The keys that can be used; one of a kind that is not known does not spoil the others.
fn read(set: &Value) -> Result<Vec<Jwk>, String> {
    let keys = set.get("keys").and_then(Value::as_array).ok_or("its keys cannot be read")?;
    Ok(keys.iter().take(MOST).filter_map(|key| serde_json::from_value(key.clone()).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_unknown_key_is_asked_for_but_not_over_and_over() {
        let keys = Keys::default();
        let asked = AtomicU32::new(0);
        let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let set = json!({"keys": [key, {"kty": "new kind", "kid": "b"}]});
        for kid in [Some("a"), None, Some("z"), Some("y"), Some("a")] {
            let found = keys
                .with(kid, async || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    Ok(set.clone())
                })
                .await
                .unwrap();
            assert!(found.iter().any(|key| key.common.key_id.as_deref() == Some("a")));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
