//! A reconciler that does what a test says, and counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::Value;
use slipway_runtime::controller::{Context, Outcome, Reconcile};
use slipway_runtime::error::Error;
use slipway_testkit::until;

use crate::workshop::{PATIENCE, Widget};

type Act = Box<
    dyn Fn(Arc<Widget>, Context<Widget>, u32) -> BoxFuture<'static, Result<Outcome, Error>> + Send + Sync,
>;
type Cleanup = Box<dyn Fn(u32) -> Result<(), Error> + Send + Sync>;

/// How often each object was asked about. Clones count together.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<BTreeMap<String, u32>>>);

impl Turns {
    pub(crate) fn count(&self, name: &str) -> u32 {
        let mut turns = self.0.lock().unwrap();
        let turns = turns.entry(name.to_owned()).or_default();
        *turns += 1;
        *turns
    }

    pub(crate) fn of(&self, name: &str) -> u32 {
        self.0.lock().unwrap().get(name).copied().unwrap_or_default()
    }

    pub(crate) fn all(&self) -> BTreeMap<String, u32> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until an object was asked about at least so often.
    pub(crate) async fn reach(&self, name: &str, turns: u32) {
        let what = format!("turn {turns} of {name}");
        let reached = until(&what, PATIENCE, || async { (self.of(name) >= turns).then_some(()) }).await;
        if let Err(error) = reached {
            panic!("{error}; there were {:?}", self.all());
        }
    }
}

/// Does what it is told.
pub(crate) struct Scripted {
    turns: Turns,
    act: Act,
    cleanups: Turns,
    cleanup: Cleanup,
    on_failure: fn() -> Value,
}

impl Scripted {
    /// A turn is what `act` says about the object and the number of the turn, and writes nothing.
    pub(crate) fn new(
        turns: &Turns,
        act: impl Fn(&Widget, u32) -> Result<Outcome, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::acting(turns, move |widget, _, turn| {
            let said = act(&widget, turn);
            Box::pin(async move { said })
        })
    }

    /// A turn is whatever `act` does.
    pub(crate) fn acting(
        turns: &Turns,
        act: impl Fn(Arc<Widget>, Context<Widget>, u32) -> BoxFuture<'static, Result<Outcome, Error>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            turns: turns.clone(),
            act: Box::new(act),
            cleanups: Turns::default(),
            cleanup: Box::new(|_| Ok(())),
            on_failure: || Value::Null,
        }
    }

    /// Every turn goes well.
    pub(crate) fn content(turns: &Turns) -> Self {
        Self::new(turns, |_, _| Ok(Outcome::done()))
    }

    pub(crate) fn cleaning(
        mut self,
        cleanups: &Turns,
        cleanup: impl Fn(u32) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.cleanups = cleanups.clone();
        self.cleanup = Box::new(cleanup);
        self
    }

    pub(crate) fn on_failure(mut self, said: fn() -> Value) -> Self {
        self.on_failure = said;
        self
    }
}

impl Reconcile<Widget> for Scripted {
    async fn reconcile(&self, widget: Arc<Widget>, context: Context<Widget>) -> Result<Outcome, Error> {
        let turn = self.turns.count(&context.key().name);
        (self.act)(widget, context, turn).await
    }

    async fn cleanup(&self, _: Arc<Widget>, context: Context<Widget>) -> Result<(), Error> {
        (self.cleanup)(self.cleanups.count(&context.key().name))
    }

    fn on_failure(&self, _: &Widget, _: &Error) -> Value {
        (self.on_failure)()
    }
}
