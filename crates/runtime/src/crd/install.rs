//! Brings a definition into a cluster, and judges a change of one that is there already.
//!
//! A definition is shared by everybody in the cluster, and so is what a change of it breaks. So the live
//! definition is compared first, and what would refuse or lose objects is not applied unless forced. What
//! others wrote into the definition (the certificates of its conversion webhook, labels) stays theirs.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use slipway_crd_compat::report::Report;
use tracing::{info, warn};

use super::check::check;

mod error;
mod judge;
mod wait;

pub use error::InstallError;
pub use judge::Judgment;

/// How far an operator may go with its own definition.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// Not at all: somebody else installs it. No request is sent.
    #[default]
    Never,
    /// Install it, and upgrade it when that breaks nothing.
    Safe,
    /// Install and upgrade it whatever it breaks, and take fields from whoever else manages them.
    Force,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Installed {
    /// Nothing was asked.
    Skipped,
    /// It was not there.
    Created,
    /// It was there as it should be.
    Unchanged,
    /// It was there, and differed.
    Updated(Box<Report>),
}

/// Tries when somebody else writes the definition at the same time.
const ATTEMPTS: u32 = 8;

/// Brings a definition into a cluster, with the defaults of [`Installer`].
pub async fn install(
    client: Client,
    crd: &CustomResourceDefinition,
    policy: Policy,
) -> Result<Installed, InstallError> {
    Installer::new(client, policy).run(crd).await
}

/// Brings definitions into a cluster.
#[derive(Clone)]
pub struct Installer {
    client: Client,
    policy: Policy,
    manager: String,
    deadline: Duration,
    objects: bool,
}

impl Installer {
    /// Installs as the field manager `slipway-crd-install`, waits a minute, and looks at live objects.
    pub fn new(client: Client, policy: Policy) -> Installer {
        Installer {
            client,
            policy,
            manager: "slipway-crd-install".to_owned(),
            deadline: Duration::from_mins(1),
            objects: true,
        }
    }

    /// The field manager; another than the one that writes certificates into the definition.
    #[must_use]
    pub fn field_manager(mut self, manager: &str) -> Installer {
        manager.clone_into(&mut self.manager);
        self
    }

    /// How long to wait until the API server serves the kind.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Installer {
        self.deadline = deadline;
        self
    }

    /// Whether live objects are read, to say which of them a breaking change hits. Needs `list` on the kind;
    /// without it the judgment is of the definitions alone.
    #[must_use]
    pub fn look_at_objects(mut self, look: bool) -> Installer {
        self.objects = look;
        self
    }

    /// Installs or upgrades one definition and waits until the API server serves it.
    ///
    /// Needs `get`, `create` and `patch` on that `CustomResourceDefinition`.
    pub async fn run(&self, crd: &CustomResourceDefinition) -> Result<Installed, InstallError> {
        if self.policy == Policy::Never {
            return Ok(Installed::Skipped);
        }
        let name = crd.name_any();
        let problems = check(crd);
        if !problems.is_empty() {
            return Err(InstallError::Unusable { name, problems });
        }
        let mut pause = Duration::from_millis(50);
        for _ in 1..ATTEMPTS {
            match self.attempt(&name, crd).await {
                Err(InstallError::Changed { .. }) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
        self.attempt(&name, crd).await
    }

    async fn attempt(&self, name: &str, crd: &CustomResourceDefinition) -> Result<Installed, InstallError> {
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let live = api.get_opt(name).await.map_err(|error| InstallError::request(name, "get", error))?;
        let report = match &live {
            Some(live) => Some(self.judge(name, live, crd).await?),
            None => None,
        };
        let written = self.apply(&api, name, crd, live.as_ref()).await?;
        wait::until_served(&api, name, self.deadline).await?;
        let before = live.as_ref().and_then(|live| live.metadata.resource_version.as_deref());
        let same = before.is_some() && before == written.metadata.resource_version.as_deref();
        Ok(match report {
            None => {
                info!(crd = name, "custom resource definition created");
                Installed::Created
            }
            Some(_) if same => Installed::Unchanged,
            Some(report) => {
                info!(crd = name, findings = report.findings.len(), "custom resource definition updated");
                Installed::Updated(Box::new(report))
            }
        })
    }

    /// The report of what the change does, or the reason why it is not made.
    async fn judge(
        &self,
        name: &str,
        live: &CustomResourceDefinition,
        crd: &CustomResourceDefinition,
    ) -> Result<Report, InstallError> {
        let dropped = judge::dropped_stored_versions(live, crd);
        if !dropped.is_empty() {
            // The API server refuses this too, in words that leave out what to do.
            return Err(InstallError::StoredVersionDropped { name: name.to_owned(), versions: dropped });
        }
        let judgment = Judgment::of(&self.client, live, crd, self.objects).await?;
        if !judgment.breaks() {
            return Ok(judgment.report);
        }
        if self.policy == Policy::Force {
            warn!(crd = name, "{}", judgment.summary());
            return Ok(judgment.report);
        }
        Err(InstallError::Breaking { name: name.to_owned(), judgment: Box::new(judgment) })
    }

    async fn apply(
        &self,
        api: &Api<CustomResourceDefinition>,
        name: &str,
        crd: &CustomResourceDefinition,
        live: Option<&CustomResourceDefinition>,
    ) -> Result<CustomResourceDefinition, InstallError> {
        let mut wanted = serde_json::to_value(crd)
            .map_err(|source| InstallError::Json { name: name.to_owned(), source })?;
        if let Value::Object(fields) = &mut wanted {
            fields.remove("status");
        }
        if let Some(live) = live {
            // What was judged is what is changed: if somebody writes in between, judge again.
            if let Some(version) = &live.metadata.resource_version {
                wanted["metadata"]["resourceVersion"] = Value::from(version.clone());
            }
            keep_own_certificates(&mut wanted, live, &self.manager);
        }
        let mut parameters = PatchParams::apply(&self.manager);
        parameters.force = self.policy == Policy::Force;
        let patched = api.patch(name, &parameters, &Patch::Apply(&wanted)).await;
        patched.map_err(|error| InstallError::request(name, "patch", error))
    }
}

const CA_BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";

/// Certificates that were written under our own name would go with an apply that leaves them out.
fn keep_own_certificates(wanted: &mut Value, live: &CustomResourceDefinition, manager: &str) {
    if wanted.pointer(CA_BUNDLE).is_some() {
        return;
    }
    let Some(client) = wanted.pointer_mut("/spec/conversion/webhook/clientConfig") else { return };
    let ours = live.metadata.managed_fields.iter().flatten().any(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| fields.0.to_string()).unwrap_or_default();
        entry.manager.as_deref() == Some(manager) && fields.contains("f:caBundle")
    });
    let live = serde_json::to_value(live).unwrap_or_default();
    if let (true, Some(bundle)) = (ours, live.pointer(CA_BUNDLE)) {
        client["caBundle"] = bundle.clone();
    }
}
