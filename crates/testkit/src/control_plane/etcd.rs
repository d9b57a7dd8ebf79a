//! The store below control planes; several share one, each under a prefix of its own.

use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::Program;

use crate::part::Part;
use crate::scratch::{Scratch, scratch};
use crate::wait::{free_port, until};

/// A running etcd.
#[derive(Debug)]
pub struct Etcd {
    /// Dropped before the directory it writes to.
    part: Part,
    url: String,
    _directory: Scratch,
}

impl Etcd {
    /// Starts one and waits until it answers.
    pub async fn start() -> anyhow::Result<Self> {
        let mut last = None;
        for _ in 0..4 {
            match Self::try_start().await {
                Ok(etcd) => return Ok(etcd),
                // Most likely another process took a port first.
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("etcd was never tried")?)
    }

    async fn try_start() -> anyhow::Result<Self> {
        let directory = scratch("etcd")?;
        let url = format!("http://127.0.0.1:{}", free_port());
        let peers = format!("http://127.0.0.1:{}", free_port());
        let part = Part::builder("etcd", Program::Etcd.find()?)
            .arg("--name=etcd")
            .arg(format!("--data-dir={}", directory.path().join("data").display()))
            // Nothing here survives its owner anyway.
            .arg("--unsafe-no-fsync")
            .arg("--quota-backend-bytes=8589934592")
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            .arg(format!("--listen-peer-urls={peers}"))
            .arg(format!("--initial-advertise-peer-urls={peers}"))
            .arg(format!("--initial-cluster=etcd={peers}"))
            .stop_signal("KILL")
            .log_file(directory.path().join("etcd.log"))
            .start()?;
        let etcd = Self { part, url, _directory: directory };
        let health = format!("{}/health", etcd.url);
        let answer = until("etcd to answer", Duration::from_secs(30), async || {
            if !etcd.part.is_running() {
                return Some(false);
            }
            reqwest::get(&health).await.ok().filter(|reply| reply.status().is_success()).map(|_| true)
        })
        .await?;
        if !answer {
            bail!("etcd ended: {}", etcd.part.log().lines().last().unwrap_or_default());
        }
        Ok(etcd)
    }

    /// Where its clients connect.
    pub fn url(&self) -> &str {
        &self.url
    }
}
