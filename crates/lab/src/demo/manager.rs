//! The manager on the fleet, as somebody new to it would try it: a server, and the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};
use slipway_testkit::{Image, Part, Program, Scratch, free_port, scratch, until};
use tokio::io::AsyncWriteExt as _;

use crate::fleet::Member;

const PATIENCE: Duration = Duration::from_mins(3);
pub(super) const OPERATOR: &str = "application-operator";
/// A version that works.
pub(super) const GOOD: &str = "0.2.0";
/// One whose webhook cannot be reached: its Service leads nowhere.
pub(super) const BAD: &str = "0.3.0";
const ENVIRONMENTS: [&str; 3] = ["development", "staging", "production"];

/// Whoever made the server.
pub(super) const ADMIN: &str = "admin";

/// A running server with the fleet registered.
pub(crate) struct Manager {
    server: Part,
    pub(super) url: String,
    files: Scratch,
    repository: ChartRepository,
}

impl Manager {
    /// Starts the server, and tells it of the fleet and of an operator.
    pub(crate) async fn start(
        fleet: &[Member],
        kubeconfig: impl Fn(&str) -> PathBuf,
    ) -> anyhow::Result<Self> {
        let repository = ChartRepository::start().await?;
        for version in ["0.1.0", GOOD, BAD] {
            repository.add(&chart(version)?);
        }
        let files = scratch("demo")?;
        let image = Image::from_binary(&format!("slipway.dev/{OPERATOR}:0.1.0"), program(OPERATOR)?)?;
        let archive = chart("0.1.0")?.write_to(files.path())?;
        println!("\n$ helm install {OPERATOR} {OPERATOR}-0.1.0.tgz    # on each cluster, as before Slipway");
        let installing = fleet.iter().map(async |member| {
            member.load(&image).await?;
            helm(&files, &kubeconfig(&member.name), &archive).await
        });
        futures::future::try_join_all(installing).await?;
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}");
        let listen = format!("127.0.0.1:{port}");
        println!("\n$ slipway serve --listen {listen}");
        let server = Part::builder("slipway", program("slipway")?)
            .args(["serve", "--listen", &listen, "--clusters-allow-loopback", "--log-filter", "warn"])
            .args([Path::new("--data-dir"), &files.path().join("data")])
            // Nobody watches a demonstration for half a minute to see the first check.
            .env("SLIPWAY_OPERATOR_HEALTH_EVERY", "PT5S")
            .start()?;
        let manager = Self { server, url, files, repository };
        let password = manager.password().await?;
        manager
            .run(
                &["login", "--server", &manager.url, "--username", "admin", "--password-stdin"],
                Some(&password),
            )
            .await?;
        for (member, environment) in fleet.iter().zip(ENVIRONMENTS) {
            let file = kubeconfig(&member.name);
            let file = file.to_string_lossy();
            manager
                .run(
                    &["cluster", "add", &member.name, "--kubeconfig", &file, "--environment", environment],
                    None,
                )
                .await?;
        }
        manager.run(&["cluster", "list"], None).await?;
        let address = manager.repository.url();
        manager.run(&["operator", "add", OPERATOR, "--repository", &address], None).await?;
        manager.run(&["operator", "versions", OPERATOR], None).await?;
        Ok(manager)
    }

    /// Shows what the server sees of the operator.
    pub(crate) async fn show(&self, fleet: &[Member]) -> anyhow::Result<()> {
        let healthy = until("the operator to be healthy everywhere", PATIENCE, async || {
            // The server lets nobody ask all the time.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let seen = self.output(&["operator", "health", OPERATOR, "-o", "json"], None).await.ok()?;
            let seen: serde_json::Value = serde_json::from_str(&seen).ok()?;
            (seen["healthyClusters"] == fleet.len()).then_some(())
        })
        .await;
        if let Err(error) = healthy {
            self.run(&["operator", "show", OPERATOR], None).await?;
            self.run(&["operator", "health", OPERATOR], None).await?;
            println!("{}", self.server.log());
            return Err(error);
        }
        for command in [
            &["operator", "show", OPERATOR][..],
            &["operator", "health", OPERATOR],
            &["crd", "list"],
            &["crd", "status", "applications.cloudnative.elide.dev"],
            &["audit", "list"],
        ] {
            self.run(command, None).await?;
        }
        Ok(())
    }

    /// How somebody else goes on with the command line.
    pub(crate) fn hint(&self) -> anyhow::Result<String> {
        let program = program("slipway")?;
        Ok(format!("XDG_CONFIG_HOME={} {} deployment list", self.home(ADMIN).display(), program.display()))
    }

    /// Ends the server with its database.
    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }

    /// The password of the first admin, which the server prints once.
    async fn password(&self) -> anyhow::Result<String> {
        until("the server to print its first password", PATIENCE, async || {
            let log = self.server.log();
            let line = log.lines().find_map(|line| line.trim().strip_prefix("password: "))?;
            Some(line.trim().to_owned())
        })
        .await
        .with_context(|| self.server.log())
    }

    /// Shows a command and what it prints.
    pub(super) async fn run(&self, arguments: &[&str], input: Option<&str>) -> anyhow::Result<()> {
        self.run_as(ADMIN, arguments, input).await
    }

    /// The same, of somebody.
    pub(super) async fn run_as(
        &self,
        person: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> anyhow::Result<()> {
        println!("\n$ slipway {}", arguments.join(" "));
        let said = self.output_of(person, arguments, input).await?;
        for line in said.lines() {
            println!("  {line}");
        }
        Ok(())
    }

    /// Shows a command that lasts, while it lasts, and says whether it ended well.
    pub(super) async fn follow(&self, person: &str, arguments: &[&str]) -> anyhow::Result<bool> {
        println!("\n$ slipway {}", arguments.join(" "));
        let status = tokio::process::Command::new(program("slipway")?)
            .args(arguments)
            .env("XDG_CONFIG_HOME", self.home(person))
            .stdin(Stdio::null())
            .status()
            .await
            .context("running slipway")?;
        Ok(status.success())
    }

    pub(super) async fn output(&self, arguments: &[&str], input: Option<&str>) -> anyhow::Result<String> {
        self.output_of(ADMIN, arguments, input).await
    }

    /// Where somebody's logins are kept.
    fn home(&self, person: &str) -> PathBuf {
        self.files.path().join(person)
    }

    pub(super) async fn output_of(
        &self,
        person: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> anyhow::Result<String> {
        let mut child = tokio::process::Command::new(program("slipway")?)
            .args(arguments)
            .env("XDG_CONFIG_HOME", self.home(person))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("running slipway")?;
        if let Some(mut stdin) = child.stdin.take()
            && let Some(input) = input
        {
            // The password counts once, so another one follows it.
            stdin.write_all(format!("{input}\n{input}-of-my-own\n").as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!(
                "slipway {} failed: {}{said}\n{}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr),
                self.server.log()
            );
        }
        Ok(said)
    }
}

/// Asks until there is an answer; the server lets nobody ask all the time.
pub(super) async fn waiting<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> anyhow::Result<T> {
    until(what, PATIENCE, async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask().await
    })
    .await
}

/// The chart of the Application operator, as one of several versions.
fn chart(version: &str) -> anyhow::Result<Chart> {
    let folder = Path::new("charts").join(OPERATOR);
    let mut chart = ChartBuilder::new(OPERATOR, version).app_version("0.1.0");
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("reading {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&folder)?.to_string_lossy().into_owned();
            let mut text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            if name == "Chart.yaml" {
                let lines = text.lines().map(|line| match line.strip_prefix("version:") {
                    Some(_) => format!("version: {version}\n"),
                    None => format!("{line}\n"),
                });
                text = lines.collect();
            }
            if name == "templates/deployment.yaml" {
                // Each version has pods of its own: the API server keeps its connections to those that stay.
                let mark = format!("slipway.dev/version: {version}\n        checksum/settings:");
                text = text.replace("checksum/settings:", &mark);
            }
            if version == BAD && name == "templates/services.yaml" {
                text = text.replace("targetPort: webhook", "targetPort: 1");
            }
            chart = chart.file(&name, &text);
        }
    }
    chart.build()
}

/// A program that was compiled beside this one.
fn program(name: &str) -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe().context("finding this program's own file")?;
    Ok(this.with_file_name(name))
}

/// Installs the operator, as people had it before.
async fn helm(files: &Scratch, kubeconfig: &Path, archive: &Path) -> anyhow::Result<()> {
    let mut helm = Part::builder("helm", Program::Helm4.find()?)
        .args(["install", OPERATOR, "--namespace", OPERATOR, "--create-namespace", "--set", "replicaCount=1"])
        .args([archive])
        .env("KUBECONFIG", kubeconfig);
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        helm = helm.env(variable, files.path());
    }
    helm.run().await.map(|_| ())
}
