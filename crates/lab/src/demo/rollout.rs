//! A version that goes out, and one that comes back.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::manager::{BAD, GOOD, Manager, OPERATOR};

/// Whoever deploys: what somebody starts, somebody else approves.
const DEPLOYER: &str = "deployer";

/// A canary of a few seconds, so that it can be watched.
const CANARY: [&str; 11] = [
    "--clusters",
    "all",
    "--strategy",
    "canary",
    "--soak",
    "5s",
    "--interval",
    "2s",
    "--max-unavailable",
    "2",
    "--no-watch",
];

impl Manager {
    /// Rolls a good version out, and a bad one.
    pub(crate) async fn roll_out(&self) -> anyhow::Result<()> {
        self.second_person().await?;
        self.run_as(DEPLOYER, &["deploy", OPERATOR, GOOD, "--clusters", "all", "--dry-run"], None).await?;
        let good = self.deploy(GOOD).await?;
        ensure!(good, "{GOOD} was not completed");
        let bad = self.deploy(BAD).await?;
        ensure!(!bad, "{BAD} was completed, and must not be");
        self.run(&["deployment", "list"], None).await?;
        self.run(&["operator", "show", OPERATOR], None).await
    }

    /// Starts a canary, has it approved, and follows it to its end.
    async fn deploy(&self, version: &str) -> anyhow::Result<bool> {
        let deploy = [&["deploy", OPERATOR, version][..], &CANARY].concat();
        self.run_as(DEPLOYER, &deploy, None).await?;
        let list = self.output(&["deployment", "list", "-o", "json"], None).await?;
        let list: Value = serde_json::from_str(&list)?;
        let id = list["deployments"][0]["deploymentId"].as_str().context("no deployment was started")?;
        let short = id.get(..8).unwrap_or(id).to_owned();
        self.approve(&short).await?;
        self.follow(DEPLOYER, &["deployment", "watch", &short]).await
    }

    /// Approves whatever a deployment waits for, once it waits.
    async fn approve(&self, deployment: &str) -> anyhow::Result<()> {
        let waits = super::manager::waiting("an approval to be asked for", async || {
            let list =
                self.output(&["approval", "list", "--status", "pending", "-o", "json"], None).await.ok()?;
            let list: Value = serde_json::from_str(&list).ok()?;
            let items = list["approvals"].as_array()?.clone();
            (!items.is_empty()).then_some(items)
        });
        let waits = waits.await?;
        self.run_as(DEPLOYER, &["deployment", "why", deployment], None).await?;
        for approval in waits {
            let id = approval["approvalId"].as_str().context("an approval without an id")?;
            self.run(&["approval", "approve", id.get(..8).unwrap_or(id)], None).await?;
        }
        Ok(())
    }

    async fn second_person(&self) -> anyhow::Result<()> {
        let add = ["user", "add", DEPLOYER, "--role", "Operator", "-o", "json"];
        println!(
            "\n$ slipway user add {DEPLOYER} --role Operator    # whoever starts something does not approve it"
        );
        let added = self.output(&add, None).await?;
        let added: Value = serde_json::from_str(&added)?;
        let password = added["oneTimePassword"].as_str().context("no password was given")?;
        let login = ["login", "--server", &self.url, "--username", DEPLOYER, "--password-stdin"];
        self.run_as(DEPLOYER, &login, Some(password)).await?;
        Ok(())
    }
}
