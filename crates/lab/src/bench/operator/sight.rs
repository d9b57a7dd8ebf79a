//! What the Applications and their Deployments look like to somebody who watches, and when each was done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use futures::TryStreamExt;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::cluster::NAMESPACE;
use super::load;

/// What is seen of one Application.
#[derive(Debug, Default)]
struct Seen {
    application: Option<Value>,
    deployment: Option<Value>,
    held: bool,
    done: Option<Instant>,
}

/// A watch of our own over Applications and Deployments.
#[derive(Debug)]
pub(super) struct Sight {
    seen: Arc<Mutex<HashMap<String, Seen>>>,
    watches: Vec<JoinHandle<()>>,
}

#[derive(Clone, Copy)]
enum Half {
    Application,
    Deployment,
}

impl Sight {
    /// Begins to watch.
    pub(super) fn begin(client: &Client) -> Self {
        let seen = Arc::default();
        let deployments = ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&());
        let watches = [(load::resource(), Half::Application), (deployments, Half::Deployment)]
            .map(|(resource, half)| {
                let api = Api::<DynamicObject>::namespaced_with(client.clone(), NAMESPACE, &resource);
                tokio::spawn(watch(api, half, Arc::clone(&seen)))
            })
            .into();
        Self { seen, watches }
    }

    /// Waits until all of these are as they should be, and gives the moment at which the last one was.
    pub(super) async fn all_done(&self, names: &[String], patience: Duration) -> anyhow::Result<Instant> {
        let started = Instant::now();
        loop {
            let done: Vec<_> = {
                let seen = lock(&self.seen);
                names.iter().filter_map(|name| seen.get(name)?.done).collect()
            };
            match done.iter().max() {
                Some(last) if done.len() == names.len() => return Ok(*last),
                _ if started.elapsed() > patience => {
                    bail!(
                        "after {} s only {} of {} Applications are done",
                        patience.as_secs(),
                        done.len(),
                        names.len()
                    )
                }
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Forgets which ones are done, before they are changed: what was done is not the change.
    pub(super) fn forget(&self) {
        lock(&self.seen).values_mut().for_each(|seen| seen.done = None);
    }

    /// Whether an operator has taken charge of an Application.
    pub(super) fn is_held(&self, name: &str) -> bool {
        lock(&self.seen).get(name).is_some_and(|seen| seen.held)
    }

    /// How many Applications there are.
    pub(super) fn applications(&self) -> usize {
        lock(&self.seen).values().filter(|seen| seen.application.is_some()).count()
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

fn lock(seen: &Mutex<HashMap<String, Seen>>) -> MutexGuard<'_, HashMap<String, Seen>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn watch(api: Api<DynamicObject>, half: Half, seen: Arc<Mutex<HashMap<String, Seen>>>) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => {
                let mut seen = lock(&seen);
                let entry = seen.entry(object.name_any()).or_default();
                let value = merged(&object);
                match half {
                    Half::Application => {
                        entry.held = !object.finalizers().is_empty();
                        entry.application = Some(value);
                    }
                    Half::Deployment => entry.deployment = Some(value),
                }
                let done = is_done(entry.application.as_ref(), entry.deployment.as_ref());
                entry.done = if done { entry.done.or_else(|| Some(Instant::now())) } else { None };
            }
            Ok(Some(watcher::Event::Delete(object))) => {
                if let Some(entry) = lock(&seen).get_mut(&object.name_any()) {
                    match half {
                        Half::Application => entry.application = None,
                        Half::Deployment => entry.deployment = None,
                    }
                    entry.done = None;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(error) => eprintln!("the watch was cut and goes on: {error}"),
        }
    }
}

/// Spec, status and generation, without the rest.
fn merged(object: &DynamicObject) -> Value {
    serde_json::json!({
        "generation": object.metadata.generation,
        "spec": object.data["spec"],
        "status": object.data["status"],
    })
}

/// An Application is done when its status says so, and the Deployment, which is asked too, agrees.
fn is_done(application: Option<&Value>, deployment: Option<&Value>) -> bool {
    let (Some(application), Some(deployment)) = (application, deployment) else { return false };
    let replicas = &application["spec"]["replicas"];
    // A count of nothing is left out of a status.
    let counts =
        |status: &Value, field: &str| status[field].as_u64().unwrap_or(0) == replicas.as_u64().unwrap_or(0);
    let status = &application["status"];
    let rolled = &deployment["status"];
    application["generation"] == status["observedGeneration"]
        // Without pods the phase is a matter of taste.
        && (status["phase"] == "Running" || replicas == 0)
        && counts(status, "readyReplicas")
        && deployment["generation"] == rolled["observedGeneration"]
        && deployment["spec"]["template"]["spec"]["containers"][0]["image"] == application["spec"]["image"]
        && ["replicas", "updatedReplicas", "readyReplicas"].iter().all(|field| counts(rolled, field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn application() -> Value {
        json!({"generation": 2, "spec": {"replicas": 2, "image": "b"},
            "status": {"observedGeneration": 2, "phase": "Running", "readyReplicas": 2}})
    }

    fn deployment() -> Value {
        json!({"generation": 3, "spec": {"template": {"spec": {"containers": [{"image": "b"}]}}},
            "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}})
    }

    #[test]
    fn an_application_is_done_when_its_status_and_its_deployment_say_so() {
        assert!(is_done(Some(&application()), Some(&deployment())));
        assert!(!is_done(Some(&application()), None));
        assert!(!is_done(None, Some(&deployment())));
    }

    #[test]
    fn a_status_of_an_older_spec_is_not_done() {
        for (field, value) in
            [("observedGeneration", json!(1)), ("phase", json!("Pending")), ("readyReplicas", json!(1))]
        {
            let mut application = application();
            application["status"][field] = value;
            assert!(!is_done(Some(&application), Some(&deployment())), "{field}");
        }
    }

    #[test]
    fn a_status_that_runs_ahead_of_the_deployment_is_not_believed() {
        let mut old_image = deployment();
        old_image["spec"]["template"]["spec"]["containers"][0]["image"] = json!("a");
        assert!(!is_done(Some(&application()), Some(&old_image)));
        let mut half_way = deployment();
        half_way["status"]["updatedReplicas"] = json!(1);
        assert!(!is_done(Some(&application()), Some(&half_way)));
    }

    #[test]
    fn without_pods_an_application_is_done_once_it_was_looked_at() {
        let application = json!({"generation": 1, "spec": {"replicas": 0, "image": "b"}, "status": {"observedGeneration": 1}});
        let deployment = json!({"generation": 1, "spec": {"template": {"spec": {"containers": [{"image": "b"}]}}},
            "status": {"observedGeneration": 1}});
        assert!(is_done(Some(&application), Some(&deployment)));
    }
}
