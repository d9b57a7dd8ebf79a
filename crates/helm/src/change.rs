//! Changing releases: one call each, with a hard deadline.
//!
//! helm is never asked to go back by itself when something fails, and never waits for workloads: whoever asks
//! looks after both. Hooks run, and are waited for.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::HelmError;
use crate::home::Home;
use crate::program::{Helm, Major};
use crate::release::Kubeconfig;
use crate::run::Run;

/// helm's own patience ends this long before it is ended, so that it can still write down that it failed.
const MARGIN: Duration = Duration::from_secs(5);
const MOST: usize = 32 << 20;

/// What becomes of a release.
#[derive(Debug, Clone)]
pub struct Upgrade<'a> {
    /// The packed chart.
    pub archive: &'a [u8],
    /// The name of the release; it is made where there is none.
    pub release: &'a str,
    /// Its namespace; it is made where there is none.
    pub namespace: &'a str,
    /// The values that are kept with it.
    pub values: &'a Map<String, Value>,
    /// What is noted with the revision once it is done.
    pub description: &'a str,
    /// Labels of the revision's record, from its very beginning.
    pub labels: &'a [(&'a str, &'a str)],
    /// Whether its hooks run.
    pub hooks: bool,
    /// Whether fields that somebody else wrote are taken over (helm 4; helm 3 always does).
    pub force_conflicts: bool,
    /// When helm is ended, whatever it does.
    pub deadline: Duration,
}

/// How a release is taken away.
#[derive(Debug, Clone)]
pub struct Uninstall<'a> {
    /// The name of the release.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Whether its hooks run.
    pub hooks: bool,
    /// When helm is ended, whatever it does.
    pub deadline: Duration,
}

impl Helm {
    /// Installs or upgrades a release.
    pub async fn upgrade(&self, cluster: &Kubeconfig, upgrade: Upgrade<'_>) -> Result<(), HelmError> {
        let home = Home::new()?;
        home.file("kubeconfig", cluster.0.as_bytes())?;
        let archive = home.file("chart.tgz", upgrade.archive)?;
        let values = home.file("values.json", &serde_json::to_vec(upgrade.values).unwrap_or_default())?;
        let mut arguments: Vec<OsString> =
            ["upgrade", "--install", upgrade.release].map(OsString::from).to_vec();
        arguments.push(archive.into());
        arguments
            .extend(["--namespace", upgrade.namespace, "--create-namespace", "--values"].map(Into::into));
        arguments.push(values.into());
        arguments.extend(["--description", upgrade.description, "--skip-crds"].map(Into::into));
        for (key, value) in upgrade.labels {
            arguments.extend(["--labels".into(), format!("{key}={value}").into()]);
        }
        if !upgrade.hooks {
            arguments.push("--no-hooks".into());
        }
        if self.major() == Major::Four {
            // Said, and not left to what the release before was made with: which fields survive depends on it.
            arguments.push("--server-side=true".into());
            if upgrade.force_conflicts {
                arguments.push("--force-conflicts".into());
            }
        }
        let doing = format!("changing the release {}", upgrade.release);
        self.change(&home, arguments, &doing, upgrade.deadline).await
    }

    /// Takes a release away, and waits until what it consisted of is gone.
    pub async fn uninstall(&self, cluster: &Kubeconfig, uninstall: Uninstall<'_>) -> Result<(), HelmError> {
        let home = Home::new()?;
        home.file("kubeconfig", cluster.0.as_bytes())?;
        let mut arguments: Vec<OsString> =
            ["uninstall", uninstall.release, "--namespace", uninstall.namespace].map(Into::into).to_vec();
        // In the foreground, so that whatever belongs to an object is gone before the object is.
        arguments.extend(["--wait", "--cascade", "foreground"].map(Into::into));
        if !uninstall.hooks {
            arguments.push("--no-hooks".into());
        }
        let doing = format!("taking away the release {}", uninstall.release);
        self.change(&home, arguments, &doing, uninstall.deadline).await
    }

    async fn change(
        &self,
        home: &Home,
        mut arguments: Vec<OsString>,
        doing: &str,
        deadline: Duration,
    ) -> Result<(), HelmError> {
        let patience = deadline.saturating_sub(MARGIN).max(Duration::from_secs(1));
        arguments.extend(["--timeout".into(), format!("{}s", patience.as_secs()).into()]);
        let run = Run {
            program: &self.program,
            guardian: &self.guardian,
            home,
            arguments,
            doing,
            deadline,
            most: MOST,
        };
        run.output().await.map(drop)
    }
}
