//! Waiting until the API server serves a kind.

use std::time::{Duration, Instant};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition,
};
use kube::api::Api;

use super::InstallError;

/// Waits for `Established` and `NamesAccepted`.
///
/// It asks instead of watching, so that `get` on one name is all it needs.
pub(super) async fn until_served(
    api: &Api<CustomResourceDefinition>,
    name: &str,
    deadline: Duration,
) -> Result<(), InstallError> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        let crd = api.get(name).await.map_err(|error| InstallError::request(name, "get", error))?;
        let conditions = crd.status.and_then(|status| status.conditions).unwrap_or_default();
        let find = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
        if let Some(refused) = find("NamesAccepted").filter(|condition| condition.status == "False") {
            return Err(InstallError::NamesTaken { name: name.to_owned(), reason: words(refused) });
        }
        let holds = |kind: &str| find(kind).is_some_and(|condition| condition.status == "True");
        if holds("Established") && holds("NamesAccepted") {
            return Ok(());
        }
        if started.elapsed() >= deadline {
            let reason = find("Established").map_or_else(|| "no condition yet".to_owned(), words);
            return Err(InstallError::NotServed { name: name.to_owned(), deadline, reason });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

fn words(condition: &CustomResourceDefinitionCondition) -> String {
    let reason = condition.reason.as_deref().unwrap_or("no reason");
    match condition.message.as_deref().filter(|message| !message.is_empty()) {
        Some(message) => format!("{reason}: {message}"),
        None => reason.to_owned(),
    }
}
