//! The person's own kubeconfig: read here, with its plugins, and never sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Which kubeconfig.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KubeconfigArgs {
    /// Use this kubeconfig instead of $KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// A cluster of the kubeconfig, with the person's rights.
pub(crate) struct OwnCluster {
    pub(crate) client: Client,
    pub(crate) server: String,
    /// PEM in base64, as the server takes it.
    pub(crate) authority: Option<String>,
    pub(crate) server_name: Option<String>,
}

impl KubeconfigArgs {
    pub(crate) fn read(&self) -> anyhow::Result<Kubeconfig> {
        match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path).map_err(innermost).with_context(|| reading(path)),
            None => Kubeconfig::read()
                .map_err(innermost)
                .context("reading your kubeconfig; name one with --kubeconfig"),
        }
    }
}

/// The cause itself: those around it say the same at greater length.
fn innermost(error: kube::config::KubeconfigError) -> anyhow::Error {
    let error = anyhow::Error::from(error);
    anyhow::anyhow!("{}", error.root_cause())
}

fn reading(path: &Path) -> String {
    format!("reading the kubeconfig {}", path.display())
}

/// The names of all contexts.
pub(crate) fn contexts(kubeconfig: &Kubeconfig) -> Vec<String> {
    kubeconfig.contexts.iter().map(|context| context.name.clone()).collect()
}

/// Uses a context; the current one where none is named.
pub(crate) async fn connect(kubeconfig: Kubeconfig, context: Option<&str>) -> anyhow::Result<OwnCluster> {
    let known = contexts(&kubeconfig);
    let wanted = context.map(str::to_owned).or_else(|| kubeconfig.current_context.clone());
    let Some(name) = wanted.filter(|name| known.contains(name)) else {
        bail!(
            "there is no context {} in your kubeconfig; there are: {}",
            context.unwrap_or("(no current context)"),
            known.join(", ")
        );
    };
    let options = KubeConfigOptions { context: Some(name.clone()), ..KubeConfigOptions::default() };
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .with_context(|| format!("using the context {name}"))?;
    if config.accept_invalid_certs {
        bail!(
            "the context {name} skips the check of the cluster's certificate, which the server will not; \
             set certificate-authority-data in its place"
        );
    }
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_mins(1));
    let server = config.cluster_url.to_string();
    let authority = config.root_cert.as_ref().map(|certificates| STANDARD.encode(pem(certificates)));
    let server_name = config.tls_server_name.clone();
    let client = Client::try_from(config).with_context(|| format!("using the context {name}"))?;
    Ok(OwnCluster { client, server, authority, server_name })
}

/// Certificates as text.
fn pem(certificates: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for certificate in certificates {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = STANDARD.encode(certificate);
        for line in encoded.as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}
