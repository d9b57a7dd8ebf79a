//! What a controller watches and how it works, as its author says it.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kube::Resource;
use kube::core::ApiResource;
use serde::de::DeserializeOwned;

use super::driver::{Driver, Typed};
use super::{Lister, Predicate, Reconcile};
use crate::cache::{Change, Informer, ObjectKey, Scope};
use crate::leader::LeaderElection;
use crate::queue::{Backoff, Queue, Trigger};
use crate::runtime::Informers;

/// A controller of objects of the kind `K`.
pub struct ControllerSpec<K> {
    name: String,
    api: ApiResource,
    driver: Arc<dyn Driver>,
    scope: Option<Scope>,
    labels: Option<String>,
    predicate: Predicate,
    related: Vec<Related>,
    options: Options,
    election: Option<LeaderElection>,
    kind: PhantomData<fn() -> K>,
}

/// How it works, without its type.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) concurrency: Option<usize>,
    pub(crate) resync: Option<Duration>,
    pub(crate) finalizer: Option<String>,
    pub(crate) backoff: Backoff,
    pub(crate) timeout: Duration,
    pub(crate) status_pace: Duration,
    pub(crate) manager: Option<String>,
    pub(crate) child_labels: BTreeMap<String, String>,
}

type Mapping = Box<dyn Fn(&Change, &Arc<Informer>) -> Vec<ObjectKey> + Send + Sync>;

struct Related {
    api: ApiResource,
    owned: bool,
    labels: Option<String>,
    mapping: Mapping,
}

impl<K> std::fmt::Debug for ControllerSpec<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControllerSpec")
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<K> ControllerSpec<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    /// A controller that asks `reconciler`. Its name is that of the kind with `-controller`.
    pub fn new(reconciler: impl Reconcile<K>) -> Self {
        let api = ApiResource::erase::<K>(&());
        Self {
            name: format!("{}-controller", api.kind.to_lowercase()),
            api,
            driver: Arc::new(Typed { reconciler, kind: PhantomData }),
            scope: None,
            labels: None,
            predicate: Predicate::default(),
            related: Vec::new(),
            options: Options {
                concurrency: None,
                resync: None,
                finalizer: None,
                backoff: Backoff::default(),
                timeout: Duration::from_mins(5),
                status_pace: Duration::from_secs(5),
                manager: None,
                child_labels: BTreeMap::new(),
            },
            election: None,
            kind: PhantomData,
        }
    }

    /// Another name: the label of its metrics, and its field manager unless that is named too.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Watches the children of the kind `C` that its objects control, and may apply such.
    #[must_use]
    pub fn owns<C: Resource<DynamicType = ()>>(self) -> Self {
        self.owns_labelled::<C>(None, Predicate::any())
    }

    /// The same, where not all news about children are worth a turn: [`Predicate::content`] for those whose
    /// status nobody reads, or that and [`Predicate::part`] for those of whose status little is read.
    #[must_use]
    pub fn owns_when<C: Resource<DynamicType = ()>>(self, predicate: Predicate) -> Self {
        self.owns_labelled::<C>(None, predicate)
    }

    /// The same for children with these labels only, which keeps foreign ones out of memory. Every child
    /// must then have them.
    #[must_use]
    pub fn owns_selected<C: Resource<DynamicType = ()>>(self, labels: &str) -> Self {
        self.owns_labelled::<C>(Some(labels.to_owned()), Predicate::any())
    }

    fn owns_labelled<C: Resource<DynamicType = ()>>(
        mut self,
        labels: Option<String>,
        predicate: Predicate,
    ) -> Self {
        let parent = self.api.clone();
        let mapping = move |change: &Change, _: &Arc<Informer>| {
            if !predicate.holds(change) {
                return Vec::new();
            }
            // A child that changes hands is news for both.
            let sides = [change.before.as_ref(), change.after.as_ref()];
            let owners = sides.into_iter().flatten().filter_map(|held| {
                let owner = held.meta().controller.as_ref()?;
                let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
                (*owner.kind == *parent.kind && group == parent.group).then(|| ObjectKey {
                    namespace: held.key().namespace.clone(),
                    name: (*owner.name).into(),
                })
            });
            let mut keys: Vec<_> = owners.collect();
            keys.dedup();
            keys
        };
        self.related.push(Related {
            api: ApiResource::erase::<C>(&()),
            owned: true,
            labels,
            mapping: Box::new(mapping),
        });
        self
    }

    /// Watches objects of the kind `W`, and asks about those objects of its own that `mapping` names.
    #[must_use]
    pub fn watches<W>(
        mut self,
        mapping: impl Fn(&W, &Lister<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self
    where
        W: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let mapping = move |change: &Change, primary: &Arc<Informer>| {
            let Some(object) = change.latest().and_then(|held| held.decode::<W>().ok()) else {
                return Vec::new();
            };
            mapping(&object, &Lister::new(Arc::clone(primary.store())))
        };
        self.related.push(Related {
            api: ApiResource::erase::<W>(&()),
            owned: false,
            labels: None,
            mapping: Box::new(mapping),
        });
        self
    }

    /// Which news about its own objects are worth a turn: everything but the status, unless told.
    #[must_use]
    pub fn when(mut self, predicate: Predicate) -> Self {
        self.predicate = predicate;
        self
    }

    /// Looks into these namespaces only, whatever the operator is told.
    #[must_use]
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.scope = Some(Scope::Namespaces(namespaces.into_iter().map(Into::into).collect()));
        self
    }

    /// Looks at objects with these labels only, such as `team=a,stage!=test`.
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.labels = Some(selector.to_owned());
        self
    }

    /// How many objects are worked on at once; fewer, down to a quarter, while the API server answers writes
    /// much slower than it did.
    #[must_use]
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.options.concurrency = Some(workers.max(1));
        self
    }

    /// How often every object is looked at although nothing happened.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.options.resync = Some(period);
        self
    }

    /// Keeps objects from going before [`Reconcile::cleanup`] succeeded, by a finalizer of this name.
    #[must_use]
    pub fn finalizer(mut self, name: &str) -> Self {
        self.options.finalizer = Some(name.to_owned());
        self
    }

    /// How long a failing object waits.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.backoff = backoff;
        self
    }

    /// How long one turn may take: five minutes unless told.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }

    /// How long a status whose news are counts and wording only waits for more of it: five seconds unless
    /// told. A phase, a condition or a generation that turns is written at once.
    #[must_use]
    pub fn status_pace(mut self, pace: Duration) -> Self {
        self.options.status_pace = pace;
        self
    }

    /// The field manager of everything it writes: its own name unless told.
    #[must_use]
    pub fn field_manager(mut self, name: &str) -> Self {
        self.options.manager = Some(name.to_owned());
        self
    }

    /// A label for every child that does not have it already.
    #[must_use]
    pub fn child_label(mut self, name: &str, value: &str) -> Self {
        self.options.child_labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A Lease of its own instead of the operator's.
    #[must_use]
    pub fn leader_election(mut self, election: LeaderElection) -> Self {
        self.election = Some(election);
        self
    }
}

/// A controller of whatever kind.
pub(crate) trait AnyController: Send {
    fn name(&self) -> &str;
    fn options(&self) -> &Options;
    /// The election it wants for itself, if any.
    fn take_election(&mut self) -> Option<LeaderElection>;
    fn plan(self: Box<Self>, informers: &mut Informers, queue: Queue<ObjectKey>) -> Planned;
}

/// A controller with its watches in place.
pub(crate) struct Planned {
    pub(crate) name: String,
    pub(crate) api: ApiResource,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) options: Options,
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) primary: Arc<Informer>,
    pub(crate) owned: Vec<Arc<Informer>>,
    pub(crate) watched: Vec<Arc<Informer>>,
}

impl Planned {
    /// Everything it looks at.
    pub(crate) fn informers(&self) -> impl Iterator<Item = &Arc<Informer>> {
        [&self.primary].into_iter().chain(&self.owned).chain(&self.watched)
    }
}

impl<K> AnyController for ControllerSpec<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn take_election(&mut self) -> Option<LeaderElection> {
        self.election.take()
    }

    fn plan(self: Box<Self>, informers: &mut Informers, queue: Queue<ObjectKey>) -> Planned {
        let primary = informers.informer(&self.api, self.scope.as_ref(), self.labels.as_deref());
        let (news, predicate) = (queue.clone(), self.predicate);
        informers.listen(&primary, move |change: &Change| {
            let Some(held) = &change.after else {
                if let Some(gone) = &change.before {
                    news.forget(gone.key());
                }
                return;
            };
            match &change.before {
                // A list brings everything, and most of it is no news.
                Some(before) if change.listed && before.meta().version == held.meta().version => {}
                None if change.listed => news.add(held.key(), Trigger::Resync),
                _ if predicate.holds(change) => news.add(held.key(), Trigger::Changed),
                _ => {}
            }
        });
        let (mut owned, mut watched) = (Vec::new(), Vec::new());
        for related in self.related {
            let informer = informers.informer(&related.api, self.scope.as_ref(), related.labels.as_deref());
            let (news, primary, mapping) = (queue.clone(), Arc::clone(&primary), related.mapping);
            informers.listen(&informer, move |change: &Change| {
                // What the first lists bring is looked at when everything is there.
                let known = change.before.as_ref().map(|held| held.meta().version);
                if change.listed && known == change.after.as_ref().map(|held| held.meta().version) {
                    return;
                }
                for key in mapping(change, &primary) {
                    news.add(&key, Trigger::Related);
                }
            });
            if related.owned { owned.push(informer) } else { watched.push(informer) }
        }
        Planned {
            name: self.name,
            api: self.api,
            driver: self.driver,
            options: self.options,
            queue,
            primary,
            owned,
            watched,
        }
    }
}
