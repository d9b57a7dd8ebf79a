//! A controller: what it watches, how it is asked, and what becomes of its answer.
//!
//! The author's [`Reconcile`] is asked about one object at a time, never twice at once about the same. It
//! says which children there should be and what the status is; queueing, trying again, writing and
//! forgetting are done here.

mod context;
mod driver;
mod engine;
mod failure;
mod lister;
mod outcome;
mod predicate;
mod spec;
mod status;
mod strain;

use std::sync::Arc;

use serde_json::Value;

pub use context::Context;
pub use lister::Lister;
pub use outcome::Outcome;
pub use predicate::Predicate;
pub use spec::ControllerSpec;

pub(crate) use engine::{Engine, Surroundings};
pub(crate) use spec::{AnyController, Planned};
pub(crate) use strain::Strain;

use crate::error::Error;

/// What an operator's author writes.
pub trait Reconcile<K>: Send + Sync + 'static {
    /// Brings the world to what `object` asks for.
    ///
    /// It may be asked any number of times about the same object, and must then do the same.
    fn reconcile(
        &self,
        object: Arc<K>,
        context: Context<K>,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send;

    /// Undoes what Kubernetes cannot undo by itself, before `object` goes. Children in the cluster go with
    /// their owner. It is asked again until it succeeds; it needs a [finalizer](ControllerSpec::finalizer).
    fn cleanup(&self, object: Arc<K>, context: Context<K>) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (object, context);
        std::future::ready(Ok(()))
    }

    /// Fields of the status to set when a turn failed, beside the condition `Ready` that the runtime sets.
    fn on_failure(&self, object: &K, error: &Error) -> Value {
        let _ = (object, error);
        Value::Null
    }
}
