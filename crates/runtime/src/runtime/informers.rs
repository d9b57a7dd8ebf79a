//! The watches of an operator: each kind once, however many controllers look at it.

use std::sync::Arc;

use kube::core::ApiResource;

use crate::cache::{Change, Informer, InformerOptions, Scope};

type Listener = Box<dyn Fn(&Change) + Send + Sync>;

/// The watches, and who listens to each.
pub(crate) struct Informers {
    scope: Scope,
    watches: Vec<(Arc<Informer>, Vec<Listener>)>,
}

impl Informers {
    /// None yet; controllers that do not say where to look look here.
    pub(crate) fn new(scope: Scope) -> Self {
        Self { scope, watches: Vec::new() }
    }

    /// The watch of a kind, shared by those who want the same of it.
    pub(crate) fn informer(
        &mut self,
        api: &ApiResource,
        scope: Option<&Scope>,
        labels: Option<&str>,
    ) -> Arc<Informer> {
        let options = InformerOptions {
            api: api.clone(),
            scope: scope.unwrap_or(&self.scope).clone(),
            labels: labels.map(ToOwned::to_owned),
        };
        if let Some((known, _)) = self.watches.iter().find(|(known, _)| *known.options() == options) {
            return Arc::clone(known);
        }
        let informer = Arc::new(Informer::new(options));
        self.watches.push((Arc::clone(&informer), Vec::new()));
        informer
    }

    /// Has somebody told what changes.
    pub(crate) fn listen(
        &mut self,
        informer: &Arc<Informer>,
        listener: impl Fn(&Change) + Send + Sync + 'static,
    ) {
        if let Some((_, listeners)) = self.watches.iter_mut().find(|(known, _)| Arc::ptr_eq(known, informer))
        {
            listeners.push(Box::new(listener));
        }
    }

    /// All watches.
    pub(crate) fn all(&self) -> Vec<Arc<Informer>> {
        self.watches.iter().map(|(informer, _)| Arc::clone(informer)).collect()
    }

    /// Begins to watch. The tasks end with the set.
    pub(crate) fn start(self, client: &kube::Client, tasks: &mut tokio::task::JoinSet<()>) {
        for (informer, listeners) in self.watches {
            let client = client.clone();
            tasks.spawn(async move { informer.run(client, listeners).await });
        }
    }
}
