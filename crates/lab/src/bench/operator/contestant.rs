//! The operators that are measured: how each is built, started and asked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use slipway_testkit::{Part, PartBuilder, Program, free_port};

use super::cluster::LEASE_NAMESPACE;

/// One of the two operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contestant {
    /// Ours, on slipway-runtime.
    #[value(alias = "rust")]
    Slipway,
    /// The same in Go, on controller-runtime.
    #[value(alias = "go")]
    ControllerRuntime,
}

/// Where an operator serves, and what it is given.
#[derive(Debug)]
pub(super) struct Place {
    kubeconfig: PathBuf,
    certificates: PathBuf,
    metrics: u16,
    health: u16,
    webhooks: u16,
}

impl Place {
    pub(super) fn new(kubeconfig: &Path, certificates: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
            certificates: certificates.to_owned(),
            metrics: free_port(),
            health: free_port(),
            webhooks: free_port(),
        }
    }

    pub(super) fn metrics_url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.metrics)
    }

    /// Where it validates and where it fills in defaults.
    pub(super) fn webhook_urls(&self) -> [String; 2] {
        ["validate", "mutate"].map(|path| format!("https://127.0.0.1:{}/{path}", self.webhooks))
    }
}

impl Contestant {
    pub(super) const ALL: [Self; 2] = [Self::Slipway, Self::ControllerRuntime];

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Slipway => "slipway-runtime",
            Self::ControllerRuntime => "controller-runtime",
        }
    }

    /// The program as people would install it, built when that is due.
    pub(super) fn program(self) -> anyhow::Result<PathBuf> {
        match self {
            Self::Slipway => build(),
            Self::ControllerRuntime => Ok(Program::ControllerRuntimeOperator.find()?),
        }
    }

    /// How to run it. Both look at every object again after `resync`, work on eight at once, hold a Lease, and
    /// leave it to the API server to slow them down.
    pub(super) fn command(self, program: &Path, place: &Place, resync: Duration) -> PartBuilder {
        let Place { kubeconfig, certificates, metrics, health, webhooks } = place;
        let part = Part::builder(self.name(), program).env("KUBECONFIG", kubeconfig);
        match self {
            Self::Slipway => part
                .arg(format!("--admin-address=127.0.0.1:{metrics}"))
                .arg(format!("--webhook-address=127.0.0.1:{webhooks}"))
                .arg("--certificates=files")
                .arg(format!("--certificate-dir={}", certificates.display()))
                .arg(format!("--lease-namespace={LEASE_NAMESPACE}"))
                .args(["--concurrency=8", "--api-qps=2000", "--api-burst=4000"])
                .arg(format!("--resync={}s", resync.as_secs())),
            Self::ControllerRuntime => part
                .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
                .arg(format!("--health-probe-bind-address=127.0.0.1:{health}"))
                .arg(format!("--webhook-bind-address=127.0.0.1:{webhooks}"))
                .arg(format!("--webhook-cert-dir={}", certificates.display()))
                .arg(format!("--leader-election-namespace={LEASE_NAMESPACE}"))
                .arg("--max-concurrent-reconciles=8")
                .arg(format!("--resync={}s", resync.as_secs())),
        }
    }

    pub(super) fn ready_url(self, place: &Place) -> String {
        let port = match self {
            Self::Slipway => place.metrics,
            Self::ControllerRuntime => place.health,
        };
        format!("http://127.0.0.1:{port}/readyz")
    }

    /// The histogram of its reconciles' durations.
    pub(super) fn reconcile_histogram(self) -> &'static str {
        match self {
            Self::Slipway => "controller_reconcile_duration_seconds",
            Self::ControllerRuntime => "controller_runtime_reconcile_time_seconds",
        }
    }
}

/// Our operator, as it is released; where `APPLICATION_OPERATOR` points, if it is set.
fn build() -> anyhow::Result<PathBuf> {
    if let Some(own) = std::env::var_os("APPLICATION_OPERATOR").filter(|value| !value.is_empty()) {
        return Ok(own.into());
    }
    println!("building application-operator …");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "slipway-application-operator"])
        .status()
        .context("running cargo")?;
    if !built.success() {
        bail!("application-operator could not be built");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(target.join("release/application-operator"))
}
