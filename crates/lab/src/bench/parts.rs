//! The adapters of a manager beside the server: what a measurement needs to prepare things, and to play servers.

use std::path::Path;
use std::sync::Arc;

use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::clock::SystemClock;
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::Parts;
use slipway_orchestrator::ports::Keyring;
use slipway_orchestrator::ports::fleet::NoFleet;
use slipway_orchestrator::ports::probes::Blind;
use slipway_testkit::guardian::guardian;

/// All of them on a database; nothing looks at clusters or changes them.
pub(super) fn parts(store: &PostgresStore, keys: &Path) -> anyhow::Result<Parts> {
    let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::File(keys.to_owned()))?);
    let connections = Arc::new(Connections::new(Arc::new(store.clone()), Arc::clone(&keyring)));
    Ok(Parts {
        store: Arc::new(store.clone()),
        clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), AddressRules::default())),
        charts: Arc::new(ChartRepositories::new(HelmPrograms {
            guardian: guardian()?.to_owned(),
            helm: None,
        })),
        releases: Arc::new(HelmReleases::new(connections)),
        probes: Arc::new(Blind),
        fleet: Arc::new(NoFleet),
        keyring,
        notifier: Arc::new(Notifiers::default()),
        identity: Arc::new(Identities::new(Vec::new())?),
        clock: Arc::new(SystemClock),
    })
}
