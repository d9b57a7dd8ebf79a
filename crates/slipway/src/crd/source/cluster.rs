//! CRDs and custom resources out of a live cluster, read only.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::KubernetesVersion;

/// How many objects are asked for at a time.
const PAGE: usize = 500;

/// A cluster that answers.
pub(crate) struct Cluster {
    /// The context's name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: KubernetesVersion,
    client: Client,
}

impl Cluster {
    /// Connects to a context of a kubeconfig; the current one when none is named.
    pub(crate) async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> anyhow::Result<Self> {
        let config = match kubeconfig {
            Some(path) => Kubeconfig::read_from(path)
                .with_context(|| format!("reading the kubeconfig {}", path.display()))?,
            None => Kubeconfig::read().context("reading the kubeconfig; name one with --kubeconfig")?,
        };
        let contexts: Vec<_> = config.contexts.iter().map(|context| context.name.clone()).collect();
        let name = context.map(str::to_owned).or_else(|| config.current_context.clone());
        let Some(name) = name.filter(|name| contexts.contains(name)) else {
            let wanted = context.unwrap_or("(no current context)");
            return Err(anyhow!(
                "there is no context {wanted:?} in the kubeconfig; there are: {}",
                contexts.join(", ")
            ));
        };
        let options = KubeConfigOptions { context: Some(name.clone()), ..KubeConfigOptions::default() };
        let mut config = kube::Config::from_custom_kubeconfig(config, &options)
            .await
            .with_context(|| format!("using the context {name}"))?;
        config.connect_timeout = Some(Duration::from_secs(10));
        config.read_timeout = Some(Duration::from_mins(1));
        let client = Client::try_from(config).with_context(|| format!("using the context {name}"))?;
        let version = client
            .apiserver_version()
            .await
            .with_context(|| format!("the cluster {name} cannot be reached"))?;
        let version = format!("{}.{}", version.major, version.minor)
            .parse()
            .with_context(|| format!("the cluster {name} says an odd version"))?;
        Ok(Self { name, version, client })
    }

    /// All its CRDs, as they are stored.
    pub(crate) async fn crds(&self) -> anyhow::Result<Vec<Crd>> {
        let mut crds = Vec::new();
        let mut problem = Ok(());
        self.each_page("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", |items| {
            for mut item in items {
                // Items of a list do not repeat what the list says.
                item["apiVersion"] = "apiextensions.k8s.io/v1".into();
                item["kind"] = "CustomResourceDefinition".into();
                match Crd::from_value(item) {
                    Ok(crd) => crds.push(crd),
                    Err(error) => {
                        problem = Err(anyhow!("the cluster {} holds an odd CRD: {error}", self.name));
                    }
                }
            }
        })
        .await?;
        problem.map(|()| crds)
    }

    /// Hands over the objects of a CRD page by page, as they are read at a version.
    pub(crate) async fn objects(
        &self,
        crd: &Crd,
        version: &str,
        take: impl FnMut(Vec<Value>),
    ) -> anyhow::Result<()> {
        self.each_page(&format!("/apis/{}/{version}/{}", crd.group(), crd.plural()), take).await
    }

    async fn each_page(&self, path: &str, mut take: impl FnMut(Vec<Value>)) -> anyhow::Result<()> {
        let mut next = String::new();
        loop {
            let address = format!("{path}?limit={PAGE}{next}");
            let request = http::Request::get(&address).body(Vec::new())?;
            let mut page: Value = self
                .client
                .request(request)
                .await
                .with_context(|| format!("listing {path} on the cluster {}", self.name))?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                take(items);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                _ => return Ok(()),
            }
        }
    }
}
