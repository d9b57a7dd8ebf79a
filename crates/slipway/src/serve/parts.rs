//! The adapters behind the ports, the use cases on them, and the work they do in the background.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use slipway_api::{App, MetricsAccess, Options, Stopping};
use slipway_domain::name::Name;
use slipway_http::Secret;
use slipway_http::shell::Shell;
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::fleet::KubeFleet;
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::KubernetesCrds;
use slipway_infra::kubernetes::probes::KubeProbes;
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::mail::{MailLogin, MailSettings, Mailer};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::{DatabaseClock, DatabaseUpkeep, PostgresStore, compare_keys};
use slipway_infra::releases::HelmReleases;
use slipway_infra::secret_file;
use slipway_infra::webhook::{ReceiverSettings, Webhooks};
use slipway_orchestrator::approvals::ApprovalExpiry;
use slipway_orchestrator::audit::AuditRetention;
use slipway_orchestrator::clusters::{ClusterHealthWorker, ClusterTokenWorker};
use slipway_orchestrator::crds::CrdStatusWorker;
use slipway_orchestrator::health::{HealthPlanWorker, OperatorHealthWorker};
use slipway_orchestrator::identity::{FIRST_ADMIN, IdentityUpkeep};
use slipway_orchestrator::notices::{NoticeSettings, Receiver};
use slipway_orchestrator::operators::{InstallationsWorker, ResealWorker, VersionsWorker};
use slipway_orchestrator::outbox::OutboxSender;
use slipway_orchestrator::ports::Keyring;
use slipway_orchestrator::ports::identity::{IssuerSettings, Password};
use slipway_orchestrator::rollouts::{GateWorker, LookWorker, RolloutWorker, StepWorker};
use slipway_orchestrator::workers::Worker;
use slipway_orchestrator::{Manager, Parts, Settings};

use super::callers::Callers;
use super::signals::Stop;
use crate::config::{Config, Issuer, Mail, MailEncryption};

/// The use cases, and what else the work in the background needs.
pub(super) struct Wired {
    pub(super) manager: Manager,
    connections: Arc<Connections>,
}

/// The use cases on their adapters.
pub(super) async fn manager(
    config: &Config,
    guardian: &Path,
    store: &PostgresStore,
) -> anyhow::Result<Wired> {
    // What is due is decided by the database's clock, so everything goes by it.
    let clock = DatabaseClock::start(store.pool()).await?;
    let keys = match &config.keyring {
        Some(keys) => KeySource::Text(keys.reveal().to_owned().into()),
        None => KeySource::File(config.key_file.clone()),
    };
    let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&keys)?);
    compare_keys(store, &*keyring).await?;
    let store = Arc::new(store.clone());
    let connections = Arc::new(Connections::new(Arc::clone(&store) as _, Arc::clone(&keyring)));
    let rules =
        AddressRules { loopback: config.clusters_on_loopback, proxies: config.cluster_proxies.clone() };
    let helm = HelmPrograms { guardian: guardian.to_owned(), helm: config.helm_program.clone() };
    let issuers = config.oidc.iter().map(issuer).collect::<anyhow::Result<_>>()?;
    let parts = Parts {
        store,
        clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), rules.clone())),
        probes: Arc::new(KubeProbes::new(Arc::clone(&connections) as _)),
        fleet: Arc::new(KubeFleet::new(Arc::clone(&connections), helm.clone()).asking(rules)),
        charts: Arc::new(ChartRepositories::new(helm)),
        releases: Arc::new(HelmReleases::new(Arc::clone(&connections))),
        keyring,
        notifier: Arc::new(notifiers(config)?),
        identity: Arc::new(Identities::new(issuers)?),
        clock: Arc::new(clock),
    };
    let settings = Settings {
        public_url: config.public_url.as_str().trim_end_matches('/').to_owned(),
        cluster_health_every: config.cluster_health_every,
        operator_health_every: config.operator_health_every,
        audit_retention: config.audit_retention,
        rollouts: config.rollouts.clone(),
        notices: NoticeSettings {
            mail: config.mail.is_some(),
            alert_addresses: config.alert_addresses.clone(),
            receivers: config
                .webhooks
                .iter()
                .map(|webhook| Receiver { name: webhook.name.clone(), kinds: webhook.kinds.clone() })
                .collect(),
        },
        ..Settings::default()
    };
    Ok(Wired { manager: Manager::new(parts, settings), connections })
}

/// Makes the first admin of an empty database, and shows the password that was made for it, once.
pub(super) async fn first_start(manager: &Manager, config: &Config) -> anyhow::Result<()> {
    let chosen = match &config.admin_password_file {
        Some(file) => Some(Password::new(secret_file::read(file)?.to_string())),
        None => None,
    };
    if let Some(password) = manager.ensure_admin(chosen.as_ref()).await? {
        // To the terminal, and not to the log: logs are kept and collected.
        println!("The first admin was made. The password counts once; choose your own when you log in:");
        let server = config.public_url.as_str().trim_end_matches('/');
        println!("  slipway login --server {server} --username {FIRST_ADMIN}");
        println!("  password: {}", password.expose());
    }
    Ok(())
}

/// All work in the background, made due where nobody else makes it so.
pub(super) async fn workers(wired: &Wired, store: &PostgresStore) -> anyhow::Result<Vec<Arc<dyn Worker>>> {
    let manager = || wired.manager.clone();
    let engine = || wired.manager.engine();
    let steps = wired.manager.rollout_settings().steps_at_once;
    manager().schedule_identity_upkeep().await?;
    manager().start_audit_retention().await?;
    manager().start_crd_status().await?;
    manager().start_operator_health().await?;
    manager().start_operator_reseal().await?;
    DatabaseUpkeep::schedule(store).await?;
    let crds = Arc::new(KubernetesCrds::new(Arc::clone(&wired.connections)));
    Ok(vec![
        Arc::new(ApprovalExpiry::new(manager())),
        Arc::new(AuditRetention::new(manager())),
        Arc::new(ClusterHealthWorker::new(manager())),
        Arc::new(ClusterTokenWorker::new(manager())),
        Arc::new(CrdStatusWorker::new(manager(), crds)),
        Arc::new(DatabaseUpkeep::new(store.clone())),
        Arc::new(HealthPlanWorker::new(manager())),
        Arc::new(IdentityUpkeep(manager())),
        Arc::new(InstallationsWorker(manager())),
        Arc::new(OperatorHealthWorker::new(manager())),
        Arc::new(OutboxSender::new(manager())),
        Arc::new(ResealWorker(manager())),
        Arc::new(RolloutWorker::new(engine())),
        Arc::new(StepWorker::new(engine()).at_once_of(steps)),
        Arc::new(LookWorker::new(engine())),
        Arc::new(GateWorker::new(engine())),
        Arc::new(VersionsWorker(manager())),
    ])
}

/// Everything that is served.
pub(super) fn router(
    config: &Config,
    manager: Manager,
    store: &PostgresStore,
    stop: &Stop,
) -> anyhow::Result<Router> {
    let (begin, stopping) = Stopping::new();
    let ends = stop.clone();
    tokio::spawn(async move {
        ends.begins().await;
        begin.begin();
    });
    let metrics = match &config.metrics_token_file {
        Some(file) => MetricsAccess::Token(Secret::new(secret_file::read(file)?.as_str())),
        None => MetricsAccess::Loopback,
    };
    let callers = Arc::new(Callers(manager.clone()));
    let store = Arc::new(store.clone());
    let app = App::new(manager, callers, Arc::clone(&store) as _, store, config.trusted_proxies.clone());
    let shell =
        Shell { tls: config.tls.is_some(), origins: config.allowed_origins.clone(), ..Shell::default() };
    Ok(slipway_api::router(app, Options { shell, metrics, stopping, ..Options::default() }))
}

fn notifiers(config: &Config) -> anyhow::Result<Notifiers> {
    let mail = config.mail.as_ref().map(mailer).transpose()?;
    let mut receivers = Vec::new();
    for webhook in &config.webhooks {
        let ca_pem = webhook.ca_file.as_ref().map(pem).transpose()?;
        let receiver =
            ReceiverSettings::new(webhook.name.clone(), webhook.url.clone(), webhook.secret_file.clone());
        receivers.push(ReceiverSettings { ca_pem, plain: webhook.allow_plain_http, ..receiver });
    }
    Ok(Notifiers { mail, webhooks: Webhooks::new(receivers)? })
}

fn mailer(mail: &Mail) -> anyhow::Result<Mailer> {
    use slipway_infra::mail::MailEncryption as Encryption;

    let settings = MailSettings {
        port: mail.port,
        encryption: match mail.encryption {
            MailEncryption::Starttls => Encryption::StartTls,
            MailEncryption::Tls => Encryption::Tls,
            MailEncryption::None => Encryption::Plain { elsewhere: false },
        },
        ca_pem: mail.ca_file.as_ref().map(pem).transpose()?,
        login: mail.login.clone().map(|(user, password_file)| MailLogin { user, password_file }),
        ..MailSettings::new(mail.host.clone(), mail.from.clone())
    };
    Ok(Mailer::new(settings)?)
}

fn issuer(issuer: &Issuer) -> anyhow::Result<IssuerSettings> {
    let name: Name = issuer
        .name
        .parse()
        .map_err(|reason| anyhow::anyhow!("the name of the issuer {:?} {reason}", issuer.name))?;
    let usual =
        IssuerSettings::new(name, issuer.issuer.as_str().trim_end_matches('/'), issuer.client_id.clone());
    let ca = issuer.ca_file.as_ref().map(pem).transpose()?;
    let ca = ca.map(String::from_utf8).transpose().context("reading the authorities of the issuer")?;
    let client_secret = match &issuer.client_secret_file {
        Some(file) => Some(Password::new(secret_file::read(file)?.to_string())),
        None => None,
    };
    Ok(IssuerSettings {
        title: issuer.title.clone().unwrap_or(usual.title),
        client_secret,
        scopes: issuer.scopes.clone().unwrap_or(usual.scopes),
        groups_claim: issuer.groups_claim.clone().unwrap_or(usual.groups_claim),
        username_claim: issuer.username_claim.clone().unwrap_or(usual.username_claim),
        mappings: issuer.groups.clone(),
        default_role: issuer.default_role,
        ca,
        name: usual.name,
        issuer: usual.issuer,
        client_id: usual.client_id,
    })
}

fn pem(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("reading {}", file.display()))
}
