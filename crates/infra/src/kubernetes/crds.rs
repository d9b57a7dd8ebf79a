//! The CRDs that clusters run, as their API servers give them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams};
use serde_json::Value;
use slipway_domain::id::ClusterId;
use slipway_orchestrator::ports::{LiveCrds, LiveCrdsError};

use super::{Connections, unreachable};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long a whole look may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many CRDs are read at once: a definition may be large, and the cluster has other work.
const AT_ONCE: usize = 4;

/// How many names are listed at once.
const PAGE: u32 = 500;

/// Reads the CRDs of registered clusters.
#[derive(Debug, Clone)]
pub struct KubernetesCrds {
    connections: Arc<Connections>,
}

impl KubernetesCrds {
    /// With the clients of registered clusters.
    pub fn new(connections: Arc<Connections>) -> Self {
        Self { connections }
    }
}

#[async_trait]
impl LiveCrds for KubernetesCrds {
    async fn live_crds(&self, cluster: ClusterId, names: &[String]) -> Result<Vec<Value>, LiveCrdsError> {
        let client = self
            .connections
            .client(cluster)
            .await
            .map_err(|error| LiveCrdsError { message: error.to_string(), source: Some(Box::new(error)) })?;
        let looking = async {
            let there = present(&client).await?;
            let wanted: Vec<String> = names.iter().filter(|name| there.contains(*name)).cloned().collect();
            let found: Vec<Option<Value>> = stream::iter(wanted)
                .map(|name| read(client.clone(), name))
                .buffered(AT_ONCE)
                .try_collect()
                .await?;
            Ok(found.into_iter().flatten().collect())
        };
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(failed(error)),
            Err(late) => Err(LiveCrdsError {
                message: format!("its CRDs could not be read within {} s", PATIENCE.as_secs()),
                source: Some(Box::new(late)),
            }),
        }
    }
}

fn failed(error: kube::Error) -> LiveCrdsError {
    let message = match &error {
        kube::Error::Api(status) if status.code == 403 => {
            "we may not read its CRDs (403); renew its role: slipway cluster add".to_owned()
        }
        other => unreachable(other, PATIENCE.as_secs()).to_string(),
    };
    LiveCrdsError { message, source: Some(Box::new(error)) }
}

/// The names of all CRDs of a cluster, without their definitions.
async fn present(client: &kube::Client) -> Result<BTreeSet<String>, kube::Error> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut names = BTreeSet::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = crds.list_metadata(&page).await?;
        names.extend(list.items.into_iter().filter_map(|item| item.metadata.name));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(names),
        }
    }
}

/// A definition whole: a type would drop what a newer Kubernetes knows.
async fn read(client: kube::Client, name: String) -> Result<Option<Value>, kube::Error> {
    let request =
        http::Request::get(format!("{PATH}/{name}")).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(crd) => Ok(Some(crd)),
        // It went between listing and reading.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
