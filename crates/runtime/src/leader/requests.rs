//! The requests of an election: each bounded in time, each failure in words.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};

use super::state::LeaseRef;

/// One Lease at the API server.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) api: Api<Lease>,
    pub(super) lease: LeaseRef,
}

/// A request that did not do what it should.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The Lease is not what it was thought to be.
    Changed,
    /// It went wrong, for this reason.
    Failed(String),
}

impl Requests {
    pub(super) fn new(client: Client, lease: LeaseRef) -> Self {
        Self { api: Api::namespaced(client, &lease.namespace), lease }
    }

    /// Reads the Lease; none when there is none.
    pub(super) async fn read(&self, timeout: Duration) -> Result<Option<Lease>, Refusal> {
        self.bounded("get", timeout, self.api.get_opt(&self.lease.name)).await
    }

    /// Writes the Lease, if it is still at its resource version, or still not there when it has none.
    pub(super) async fn write(&self, lease: &Lease, timeout: Duration) -> Result<Lease, Refusal> {
        let params = PostParams::default();
        if lease.metadata.resource_version.is_some() {
            self.bounded("update", timeout, self.api.replace(&self.lease.name, &params, lease)).await
        } else {
            self.bounded("create", timeout, self.api.create(&params, lease)).await
        }
    }

    async fn bounded<T>(
        &self,
        verb: &str,
        timeout: Duration,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Refusal> {
        match tokio::time::timeout(timeout, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(Refusal::Changed),
            // Deleted since it was read. A create is answered so when its namespace is missing.
            Ok(Err(kube::Error::Api(status))) if status.code == 404 && verb == "update" => {
                Err(Refusal::Changed)
            }
            Ok(Err(error)) => Err(Refusal::Failed(self.explain(verb, &error))),
            Err(_) => {
                let LeaseRef { namespace, name } = &self.lease;
                Err(Refusal::Failed(format!(
                    "cannot {verb} the Lease {namespace}/{name}: no answer from the API server in {timeout:.1?}"
                )))
            }
        }
    }

    /// What went wrong, with what to do about a missing permission.
    pub(super) fn explain(&self, verb: &str, error: &kube::Error) -> String {
        let LeaseRef { namespace, name } = &self.lease;
        match error {
            kube::Error::Api(status) if status.code == 403 => format!(
                "may not {verb} the Lease {namespace}/{name} ({}); add this rule to a Role in namespace \
                 {namespace} that is bound to this operator: {{apiGroups: [\"coordination.k8s.io\"], \
                 resources: [\"leases\"], verbs: [\"get\", \"list\", \"watch\", \"create\", \"update\"]}}",
                status.message
            ),
            kube::Error::Api(status) => {
                format!("cannot {verb} the Lease {namespace}/{name}: {} ({})", status.message, status.code)
            }
            other => format!("cannot {verb} the Lease {namespace}/{name}: {}", chain(other)),
        }
    }
}

/// An error with its causes; a cause that only repeats what contains it is left out.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {more}");
        }
        cause = error.source();
    }
    text
}
