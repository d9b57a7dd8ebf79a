//! What an author brings: validators, mutators, and what each is for.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::admission::Request;
use super::decode::decode;
use super::patch;
use super::review::{Operation, Review};
use super::rules::Rules;
use super::verdict::{Denial, Verdict};

/// Judges requests about objects of type `K`.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use slipway_runtime::webhook::{Review, Validate, Verdict};
///
/// struct NoEmptyMaps;
///
/// impl Validate<ConfigMap> for NoEmptyMaps {
///     async fn validate(&self, review: &Review<ConfigMap>) -> Verdict {
///         let mut verdict = Verdict::new();
///         if let Some(map) = &review.object {
///             if map.data.as_ref().is_none_or(|data| data.is_empty()) {
///                 verdict.deny("data", "must have at least one entry");
///             }
///         }
///         verdict
///     }
/// }
/// ```
pub trait Validate<K>: Send + Sync + 'static {
    /// What it has against the request. It must not change anything, here or elsewhere.
    fn validate(&self, review: &Review<K>) -> impl Future<Output = Verdict> + Send;
}

/// Changes objects of type `K` on their way in.
pub trait Mutate<K>: Send + Sync + 'static {
    /// Changes `object`, which begins as the review's object. Only what it changes is sent to the
    /// API server; fields that `K` does not know stay as they are. It may be asked again about its
    /// own result, and must then change nothing.
    fn mutate(&self, review: &Review<K>, object: &mut K) -> impl Future<Output = Result<(), Denial>> + Send;
}

/// What objects must be for webhooks to handle them as types.
pub trait Reviewed:
    Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Send + Sync + 'static
{
}

impl<K> Reviewed for K where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Send + Sync + 'static
{
}

/// A validator or mutator under its name, with the requests it is for.
#[derive(Clone)]
#[must_use]
pub struct Registration {
    pub(crate) name: String,
    pub(crate) rules: Rules,
    pub(crate) handler: Handler,
    pub(crate) finalizer: Option<String>,
}

#[derive(Clone)]
pub(crate) enum Handler {
    Validating(Arc<dyn AnyValidator>),
    Mutating(Arc<dyn AnyMutator>),
}

impl Registration {
    /// A validator of `K`, asked about creations and changes unless told otherwise.
    pub fn validating<K: Reviewed>(name: impl Into<String>, validator: impl Validate<K>) -> Self {
        let handler = Handler::Validating(Arc::new(TypedValidator { validator, kind: PhantomData }));
        Self { name: name.into(), rules: Rules::of::<K>(), handler, finalizer: None }
    }

    /// A mutator of `K`, asked about creations and changes unless told otherwise.
    pub fn mutating<K: Reviewed>(name: impl Into<String>, mutator: impl Mutate<K>) -> Self {
        let handler = Handler::Mutating(Arc::new(TypedMutator { mutator, kind: PhantomData }));
        Self { name: name.into(), rules: Rules::of::<K>(), handler, finalizer: None }
    }

    /// For these requests instead.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// For these operations instead.
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.rules = self.rules.operations(operations);
        self
    }

    /// For these subresources too, such as `status`.
    pub fn subresources(mut self, subresources: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.rules = self.rules.subresources(subresources);
        self
    }

    /// Gives every created object this finalizer, which saves the controller a write. A validator
    /// changes nothing, so for one this does nothing.
    pub fn with_finalizer(mut self, finalizer: impl Into<String>) -> Self {
        self.finalizer = Some(finalizer.into());
        self
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Registration")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .field("finalizer", &self.finalizer)
            .finish_non_exhaustive()
    }
}

/// A mutator that changes nothing, for a registration that only adds a finalizer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unchanged;

impl<K: Send + Sync> Mutate<K> for Unchanged {
    async fn mutate(&self, _: &Review<K>, _: &mut K) -> Result<(), Denial> {
        Ok(())
    }
}

/// A validator whose type is forgotten.
pub(crate) trait AnyValidator: Send + Sync {
    fn validate<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Verdict>;
}

/// A mutator whose type is forgotten. It gives the whole changed object.
pub(crate) trait AnyMutator: Send + Sync {
    fn mutate<'a>(&'a self, request: &'a Request, object: &'a Value) -> BoxFuture<'a, Result<Value, Denial>>;
}

struct TypedValidator<K, V> {
    validator: V,
    kind: PhantomData<fn() -> K>,
}

impl<K: Reviewed, V: Validate<K>> AnyValidator for TypedValidator<K, V> {
    fn validate<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            match request.review::<K>(request.object.as_ref()) {
                Ok(review) => self.validator.validate(&review).await,
                Err(denial) => unreadable(request, denial),
            }
        })
    }
}

/// An object that cannot be read cannot be judged, so it is refused; except on its way out, where
/// refusing would keep a broken object for ever.
fn unreadable(request: &Request, denial: Denial) -> Verdict {
    if request.operation != Operation::Delete && !request.deleting() {
        return denial.into();
    }
    let mut verdict = Verdict::new();
    verdict.warn(format!("not judged while it is deleted: {denial}"));
    verdict
}

struct TypedMutator<K, M> {
    mutator: M,
    kind: PhantomData<fn() -> K>,
}

impl<K: Reviewed, M: Mutate<K>> AnyMutator for TypedMutator<K, M> {
    fn mutate<'a>(&'a self, request: &'a Request, object: &'a Value) -> BoxFuture<'a, Result<Value, Denial>> {
        Box::pin(async move {
            // Whatever cannot be read passes untouched: schema and validators say what is wrong
            // with it in better words.
            let Ok(review) = request.review::<K>(Some(object)) else { return Ok(object.clone()) };
            let Ok(mut changed) = decode::<K>(object) else { return Ok(object.clone()) };
            let Ok(before) = serde_json::to_value(&changed) else { return Ok(object.clone()) };
            self.mutator.mutate(&review, &mut changed).await?;
            let after = serde_json::to_value(&changed)
                .map_err(|error| Denial::new("", format!("the changed object cannot be written: {error}")))?;
            Ok(patch::carry_over(object, &before, &after))
        })
    }
}
