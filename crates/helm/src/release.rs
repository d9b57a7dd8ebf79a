//! Releases of a cluster, as helm knows them.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::error::HelmError;
use crate::home::Home;
use crate::output;
use crate::program::Helm;
use crate::run::Run;

/// How a cluster is reached. It is secret: it goes to helm through a file that only this user can read.
#[derive(Clone)]
pub struct Kubeconfig(pub(crate) Zeroizing<String>);

impl Kubeconfig {
    /// From its text.
    pub fn new(text: Zeroizing<String>) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kubeconfig(…)")
    }
}

/// Which releases are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of all namespaces.
    Everywhere,
    /// Those of one.
    Namespace(&'a str),
}

/// A release in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReleaseSummary {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its revision.
    #[serde(deserialize_with = "output::number")]
    pub revision: u32,
    /// helm's word for how far it came.
    pub status: String,
    /// The chart and its version, joined by a dash.
    pub chart: String,
    /// The version of what it installs.
    #[serde(default)]
    pub app_version: String,
}

/// One revision of a release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Revision {
    /// Its number.
    #[serde(deserialize_with = "output::number")]
    pub revision: u32,
    /// helm's word for how far it came.
    pub status: String,
    /// The chart and its version, joined by a dash.
    pub chart: String,
    /// What was noted with it.
    #[serde(default)]
    pub description: String,
}

/// Long enough for a cluster that answers slowly.
const DEADLINE: Duration = Duration::from_mins(1);
const MOST: usize = 32 * 1024 * 1024;

impl Helm {
    /// The releases of a cluster in every state, the newest revision of each.
    pub async fn releases(
        &self,
        cluster: &Kubeconfig,
        scope: Scope<'_>,
    ) -> Result<Vec<ReleaseSummary>, HelmError> {
        let mut arguments: Vec<OsString> =
            ["list", "--output", "json", "--max", "10000"].map(OsString::from).to_vec();
        // helm 4 lists every state by itself and has no such option any more.
        if self.major() == crate::Major::Three {
            arguments.push("--all".into());
        }
        match scope {
            Scope::Everywhere => arguments.push("--all-namespaces".into()),
            Scope::Namespace(namespace) => arguments.extend(["--namespace".into(), namespace.into()]),
        }
        self.ask(cluster, arguments, "listing releases").await
    }

    /// The values that somebody gave to a release; without the chart's own.
    pub async fn values(
        &self,
        cluster: &Kubeconfig,
        namespace: &str,
        release: &str,
    ) -> Result<Map<String, Value>, HelmError> {
        let arguments = ["get", "values", release, "--namespace", namespace, "--output", "json"];
        let doing = format!("reading the values of {release}");
        let values: Option<Map<String, Value>> =
            self.ask(cluster, arguments.map(OsString::from).to_vec(), &doing).await?;
        Ok(values.unwrap_or_default())
    }

    /// The manifests of a release as YAML: what helm applied.
    pub async fn manifest(
        &self,
        cluster: &Kubeconfig,
        namespace: &str,
        release: &str,
    ) -> Result<String, HelmError> {
        let arguments = ["get", "manifest", release, "--namespace", namespace];
        let doing = format!("reading the manifests of {release}");
        let bytes = self.run(cluster, arguments.map(OsString::from).to_vec(), &doing).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The revisions of a release, the oldest first.
    pub async fn history(
        &self,
        cluster: &Kubeconfig,
        namespace: &str,
        release: &str,
    ) -> Result<Vec<Revision>, HelmError> {
        let arguments = ["history", release, "--namespace", namespace, "--output", "json"];
        let doing = format!("reading the history of {release}");
        self.ask(cluster, arguments.map(OsString::from).to_vec(), &doing).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        cluster: &Kubeconfig,
        arguments: Vec<OsString>,
        doing: &str,
    ) -> Result<T, HelmError> {
        let bytes = self.run(cluster, arguments, doing).await?;
        serde_json::from_slice(&bytes).map_err(|source| HelmError::Answer { doing: doing.to_owned(), source })
    }

    async fn run(
        &self,
        cluster: &Kubeconfig,
        arguments: Vec<OsString>,
        doing: &str,
    ) -> Result<Vec<u8>, HelmError> {
        let home = Home::new()?;
        home.file("kubeconfig", cluster.0.as_bytes())?;
        let run = Run {
            program: &self.program,
            guardian: &self.guardian,
            home: &home,
            arguments,
            doing,
            deadline: DEADLINE,
            most: MOST,
        };
        run.output().await
    }
}
