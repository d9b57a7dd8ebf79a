//! What a reconcile says when it went well.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

/// What a reconcile says when it went well.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub(crate) status: Option<Value>,
    pub(crate) again_after: Option<Duration>,
}

impl Outcome {
    /// There is nothing more to do until something changes.
    pub fn done() -> Self {
        Self::default()
    }

    /// The status to show. It is written only where it differs from what is there; the observed generation
    /// and the transition times of conditions are set by the runtime.
    pub fn status<S: Serialize>(mut self, status: &S) -> Result<Self, Error> {
        let status = serde_json::to_value(status);
        self.status =
            Some(status.map_err(|error| Error::permanent("writing the status down").caused_by(error))?);
        Ok(self)
    }

    /// To be asked again after this long, whatever happens.
    #[must_use]
    pub fn again_after(mut self, wait: Duration) -> Self {
        self.again_after = Some(wait);
        self
    }
}
