//! What is tolerated, from a file and from flags.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use slipway_crd_compat::options::{KubernetesVersion, Options};
use slipway_crd_compat::policy::{Policy, Preset};

/// The presets, as flags name them.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PresetName {
    /// Everything that can hurt somebody counts.
    Strict,
    /// Changed descriptions and printer columns and added enum values are tolerated.
    UpstreamControllers,
}

#[derive(Debug, Args)]
pub(crate) struct Judgement {
    /// Start from a preset; a policy file may name one too.
    #[arg(long, value_enum)]
    preset: Option<PresetName>,
    /// A policy: preset, rules that are raised, lowered or ignored, and waivers with reason and expiry.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The Kubernetes version of the cluster [default: the newest; of a cluster, its own].
    #[arg(long, value_name = "VERSION")]
    kubernetes: Option<KubernetesVersion>,
}

impl Judgement {
    /// The options of a comparison, now.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let mut policy = match &self.policy {
            Some(path) => read(path)?,
            None => Policy::default(),
        };
        match self.preset {
            Some(PresetName::Strict) => policy.preset = Preset::Strict,
            Some(PresetName::UpstreamControllers) => policy.preset = Preset::UpstreamControllers,
            None => {}
        }
        policy.check()?;
        let mut options = Options::at(Timestamp::now()).with_policy(policy);
        if let Some(version) = self.kubernetes {
            options = options.with_kubernetes(version);
        }
        Ok(options)
    }

    /// The version that was asked for.
    pub(crate) fn kubernetes(&self) -> Option<KubernetesVersion> {
        self.kubernetes
    }
}

fn read(path: &PathBuf) -> anyhow::Result<Policy> {
    let text = fs::read_to_string(path).with_context(|| format!("reading the policy {}", path.display()))?;
    let documents =
        slipway_manifests::read(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    match documents.as_slice() {
        [] => bail!("the policy {} is empty", path.display()),
        [document] => serde_json::from_value(document.value.clone())
            .with_context(|| format!("the policy {} is not one", path.display())),
        _ => bail!("the policy {} has more than one document", path.display()),
    }
}
