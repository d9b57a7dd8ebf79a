//! The author's code, without its type.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Context, Outcome, Reconcile, Surroundings};
use crate::apply::Parent;
use crate::cache::Held;
use crate::error::{Category, Error};

/// Asks the author's code about an object of whatever kind.
pub(crate) trait Driver: Send + Sync {
    fn reconcile(
        &self,
        held: Arc<Held>,
        parent: Parent,
        around: Arc<Surroundings>,
    ) -> BoxFuture<'_, Result<Outcome, Error>>;
    fn cleanup(
        &self,
        held: Arc<Held>,
        parent: Parent,
        around: Arc<Surroundings>,
    ) -> BoxFuture<'_, Result<(), Error>>;
    fn on_failure(&self, held: &Held, error: &Error) -> Value;
    /// Whether the object fits its type.
    fn check(&self, held: &Held) -> Result<(), Error>;
}

pub(super) struct Typed<K, R> {
    pub(super) reconciler: R,
    pub(super) kind: std::marker::PhantomData<fn() -> K>,
}

impl<K, R> Driver for Typed<K, R>
where
    K: DeserializeOwned + Send + Sync + 'static,
    R: Reconcile<K>,
{
    fn reconcile(
        &self,
        held: Arc<Held>,
        parent: Parent,
        around: Arc<Surroundings>,
    ) -> BoxFuture<'_, Result<Outcome, Error>> {
        guarded(async move {
            let object = decode(&held)?;
            self.reconciler.reconcile(Arc::new(object), Context::new(parent, around)).await
        })
    }

    fn cleanup(
        &self,
        held: Arc<Held>,
        parent: Parent,
        around: Arc<Surroundings>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        guarded(async move {
            let object = decode(&held)?;
            self.reconciler.cleanup(Arc::new(object), Context::new(parent, around)).await
        })
    }

    fn on_failure(&self, held: &Held, error: &Error) -> Value {
        let Ok(object) = decode::<K>(held) else { return Value::Null };
        let said = std::panic::catch_unwind(AssertUnwindSafe(|| self.reconciler.on_failure(&object, error)));
        said.unwrap_or_default()
    }

    fn check(&self, held: &Held) -> Result<(), Error> {
        decode::<K>(held).map(drop)
    }
}

fn decode<K: DeserializeOwned>(held: &Held) -> Result<K, Error> {
    held.decode().map_err(|error| {
        let message =
            format!("{} does not fit its type and is left alone until it changes: {error}", held.key());
        Error::new(Category::Permanent, "Undecodable", message).caused_by(error)
    })
}

/// A panic in the author's code fails the turn, not the operator.
fn guarded<'a, T: Send + 'a>(
    turn: impl Future<Output = Result<T, Error>> + Send + 'a,
) -> BoxFuture<'a, Result<T, Error>> {
    async move {
        match AssertUnwindSafe(turn).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => {
                let said = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                Err(Error::transient(format!("the reconciler panicked: {said}")).reason("Panicked"))
            }
        }
    }
    .boxed()
}
