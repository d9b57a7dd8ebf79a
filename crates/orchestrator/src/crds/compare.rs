//! Comparing definitions, once for each pair of contents.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::oneshot;
use serde_json::Value;
use slipway_crd_compat::crd::{Crd, CrdError};
use slipway_crd_compat::options::{KubernetesVersion, Options};
use slipway_crd_compat::policy::Policy;
use slipway_crd_compat::report::Report;
use slipway_domain::access::Environment;
use slipway_domain::crd::ContentHash;
use slipway_domain::crd::content::canonical;
use slipway_domain::document::Kind;
use slipway_domain::name::Name;
use slipway_domain::settings::Setting;
use slipway_domain::settings::policy::CrdPolicy;

use crate::error::{Code, Error};
use crate::manager::Manager;

/// How many reports are kept.
const KEPT: usize = 512;

/// What decides a report: two contents, the cluster's release, and what is tolerated.
type Key = (ContentHash, ContentHash, Option<KubernetesVersion>, String);

/// Reports by what was compared, the newest few.
#[derive(Debug, Default)]
pub struct Comparisons {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    reports: HashMap<Key, Arc<Report>>,
    order: VecDeque<Key>,
}

impl Comparisons {
    fn get(&self, key: &Key) -> Option<Arc<Report>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).reports.get(key).cloned()
    }

    fn put(&self, key: Key, report: &Arc<Report>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.reports.insert(key.clone(), Arc::clone(report)).is_none() {
            kept.order.push_back(key);
        }
        if kept.order.len() > KEPT
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.reports.remove(&oldest);
        }
    }
}

/// A definition, what counts of it, and the hash of that.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// As it was written.
    pub(super) written: Arc<Value>,
    /// What counts of it; this is what is compared, so that equal hashes mean equal reports.
    pub(super) crd: Arc<Crd>,
    pub(super) content: ContentHash,
}

impl Definition {
    /// Of a value that is a CRD.
    pub(super) fn new(written: Value) -> Result<Self, CrdError> {
        // The whole is looked at, and what counts of it is then a CRD as well.
        let whole = Crd::from_value(written)?;
        let crd = Crd::from_value(canonical(whole.raw()))?;
        let content = ContentHash::of_canonical(crd.raw());
        Ok(Self { written: Arc::new(whole.raw().clone()), crd: Arc::new(crd), content })
    }

    /// Of a text that was stored: it was read as a CRD before.
    pub(super) fn stored(text: &str) -> Result<Self, Error> {
        let broken = |error: Box<dyn std::error::Error + Send + Sync>| {
            Error::new(Code::InternalError, "a stored CRD cannot be read; the trace id finds it in the logs")
                .caused_by(error)
        };
        let value: Value = serde_json::from_str(text).map_err(|error| broken(error.into()))?;
        Self::new(value).map_err(|error| broken(error.into()))
    }
}

impl Manager {
    /// Judges what replacing one definition by another does, under a policy.
    pub(super) async fn compare(
        &self,
        old: &Definition,
        new: &Definition,
        kubernetes: Option<KubernetesVersion>,
        policy: &Policy,
    ) -> Result<Arc<Report>, Error> {
        let words = serde_json::to_string(policy).unwrap_or_default();
        let key = (old.content, new.content, kubernetes, words);
        // Waivers end, so a report under them is true only for the moment.
        let lasting = policy.waivers.is_empty();
        if lasting && let Some(report) = self.comparisons.get(&key) {
            return Ok(report);
        }
        let mut options = Options::at(self.now()).with_policy(policy.clone());
        if let Some(kubernetes) = kubernetes {
            options = options.with_kubernetes(kubernetes);
        }
        let (before, after) = (Arc::clone(&old.crd), Arc::clone(&new.crd));
        let report = aside(move || slipway_crd_compat::compare(&before, &after, &options)).await?;
        let report = Arc::new(report);
        if lasting {
            self.comparisons.put(key, &report);
        }
        Ok(report)
    }

    /// What is tolerated of changes of an operator's CRDs where it counts most: in production.
    pub(super) async fn crd_policy(&self, operator: &Name) -> Result<Policy, Error> {
        crd_compat_policy(&self.crd_policy_in(Environment::Production, operator).await?)
    }

    /// What is tolerated of changes of an operator's CRDs in an environment: of all policies that cover both.
    pub(crate) async fn crd_policy_in(
        &self,
        environment: Environment,
        operator: &Name,
    ) -> Result<CrdPolicy, Error> {
        let mut all = CrdPolicy::default();
        for stored in self.store().settings(Some(Kind::Policy)).await? {
            if let Setting::Policy(policy) = stored.setting
                && policy.scope.covers(environment, operator)
            {
                all.add(&policy.crds);
            }
        }
        Ok(all)
    }
}

/// The same policy in the judge's words, which are the same words.
pub(crate) fn crd_compat_policy(policy: &CrdPolicy) -> Result<Policy, Error> {
    let broken = |error: serde_json::Error| {
        Error::new(Code::InternalError, "a stored policy cannot be used").caused_by(error)
    };
    let value = serde_json::to_value(policy).map_err(broken)?;
    serde_json::from_value(value).map_err(broken)
}

/// Does long work on a thread of its own, so that requests are not held up by it.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    let failed = |what| Error::new(Code::InternalError, format!("the comparison {what}"));
    std::thread::Builder::new()
        .name("crd-compare".to_owned())
        .spawn(move || {
            // Whoever asked may have gone.
            let _ = sender.send(work());
        })
        .map_err(|error| failed("could not be started").caused_by(error))?;
    receiver.await.map_err(|error| failed("ended without an answer").caused_by(error))
}
