//! Where elections are held: one control plane for all tests that do not harm it, a Lease for each.

use std::path::PathBuf;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use slipway_runtime::leader::{LeaderElection, PREFERRED_GROUP_ANNOTATION};
use slipway_testkit::{ControlPlane, until};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

struct Shared {
    kubeconfig: String,
    file: PathBuf,
}

/// Lives as long as the process; closing its socket then gives it back.
fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let plane = ControlPlane::start().await.unwrap();
                let kubeconfig = plane.kubeconfig().to_owned();
                tell.send(Shared { kubeconfig, file: plane.kubeconfig_file() }).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().expect("the control plane starts")
    })
}

/// One Lease, and who may use it.
pub(crate) struct Place {
    pub(crate) lease: &'static str,
    pub(crate) config: Config,
    pub(crate) client: Client,
    pub(crate) kubeconfig_file: PathBuf,
}

impl Place {
    /// On the control plane that tests share.
    pub(crate) async fn new(lease: &'static str) -> Self {
        let Shared { kubeconfig, file } = tokio::task::spawn_blocking(shared).await.unwrap();
        Self::at(kubeconfig, file.clone(), lease).await
    }

    /// On a control plane of the test's own.
    pub(crate) async fn on(plane: &ControlPlane, lease: &'static str) -> Self {
        Self::at(plane.kubeconfig(), plane.kubeconfig_file(), lease).await
    }

    async fn at(kubeconfig: &str, kubeconfig_file: PathBuf, lease: &'static str) -> Self {
        slipway_testkit::init();
        let parsed = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config.clone()).unwrap();
        Self { lease, config, client, kubeconfig_file }
    }

    /// A candidate of this name with a quick rhythm.
    pub(crate) fn candidate(&self, identity: &str) -> LeaderElection {
        LeaderElection::named(self.lease)
            .identity(identity)
            .lease_duration(Duration::from_secs(3))
            .renew_deadline(Duration::from_secs(2))
            .retry_period(Duration::from_millis(500))
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) async fn lease(&self) -> LeaseSpec {
        self.leases().get(self.lease).await.unwrap().spec.unwrap()
    }

    /// Waits until the Lease names a holder that suits.
    pub(crate) async fn held_by(&self, suits: impl Fn(&str) -> bool) -> (String, LeaseSpec) {
        until("the Lease to have the holder that is wanted", MINUTE, async || {
            let spec = self.leases().get_opt(self.lease).await.ok()??.spec?;
            let holder = spec.holder_identity.clone().filter(|holder| suits(holder))?;
            Some((holder, spec))
        })
        .await
        .unwrap()
    }

    /// Says which group shall lead.
    pub(crate) async fn prefer(&self, group: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {PREFERRED_GROUP_ANNOTATION: group}}}));
        self.leases().patch(self.lease, &PatchParams::default(), &patch).await.unwrap();
    }
}

pub(crate) fn acquired(spec: &LeaseSpec) -> Timestamp {
    spec.acquire_time.as_ref().unwrap().0
}

pub(crate) fn renewed(spec: &LeaseSpec) -> Timestamp {
    spec.renew_time.as_ref().unwrap().0
}

/// From one moment to a later one.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
