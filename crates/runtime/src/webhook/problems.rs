//! What does not work right now, in words, for logs and for whoever asks why something is not ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{WebhookError, chain};

/// The problems of all parts of the webhooks, each part with one at most.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problems(Arc<Mutex<BTreeMap<String, String>>>);

impl Problems {
    /// Notes what keeps a part from its work, and logs it unless that was known.
    pub(crate) fn note(&self, part: &str, error: &WebhookError) {
        let text = chain(error);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(part) != Some(&text) {
            tracing::warn!("{part}: {text}");
            all.insert(part.to_owned(), text);
        }
    }

    /// Notes that a part works.
    pub(crate) fn clear(&self, part: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.remove(part).is_some() {
            tracing::info!("{part}: well again");
        }
    }

    /// All there are.
    pub(crate) fn all(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(part, text)| format!("{part}: {text}")).collect()
    }
}
