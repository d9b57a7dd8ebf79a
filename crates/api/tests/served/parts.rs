//! The adapters that these tests do not need.

use std::sync::Arc;

use async_trait::async_trait;
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::Parts;
use slipway_orchestrator::ports::notifier::NotifyError;
use slipway_orchestrator::ports::probes::Blind;
use slipway_orchestrator::ports::store::Message;
use slipway_orchestrator::ports::{Clock, Keyring, Notifier, Releases};
use zeroize::Zeroizing;

struct Nothing;

#[async_trait]
impl Releases for Nothing {}

#[async_trait]
impl Notifier for Nothing {
    async fn send(&self, _: &Message) -> Result<(), NotifyError> {
        Ok(())
    }
}

pub(super) fn keyring() -> Arc<dyn Keyring> {
    let key = Zeroizing::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".to_owned());
    Arc::new(AesKeyring::load(&KeySource::Text(key)).expect("it is a key"))
}

pub(super) fn connections(store: &PostgresStore) -> Arc<Connections> {
    Arc::new(Connections::new(Arc::new(store.clone()), keyring()))
}

pub(super) fn parts(store: &PostgresStore, clock: Arc<dyn Clock>) -> Parts {
    let guardian = slipway_testkit::guardian::guardian().expect("the guardian is built").to_owned();
    Parts {
        store: Arc::new(store.clone()),
        clusters: Arc::new(KubernetesClusters::new(
            connections(store),
            AddressRules { loopback: true, ..AddressRules::default() },
        )),
        charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
        releases: Arc::new(Nothing),
        keyring: keyring(),
        notifier: Arc::new(Nothing),
        identity: Arc::new(Identities::new(Vec::new()).expect("no issuer is none that is wrong")),
        probes: Arc::new(Blind),
        fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
        clock,
    }
}
