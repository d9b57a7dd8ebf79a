//! The manager as people run it: the program, a PostgreSQL server that keeps what it is told, and many callers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::StreamExt as _;
use serde_json::Value;
use slipway_domain::access::{Actor, Role};
use slipway_infra::postgres::{Options, PostgresStore, connect};
use slipway_orchestrator::identity::NewToken;
use slipway_orchestrator::ports::identity::Password;
use slipway_orchestrator::{Manager, Settings};
use slipway_testkit::postgres::{Database, Postgres};
use slipway_testkit::scratch::Scratch;
use slipway_testkit::{Part, free_port, scratch, until};

use super::parts::parts;
use super::seen::Seen;
use super::usage::{self, Memory};

const PASSWORD: &str = "a-password-for-a-measurement";
const PATIENCE: Duration = Duration::from_mins(5);
/// How many registrations are under way at once.
const AT_ONCE: usize = 2;

/// A running server, and callers: each may ask only so often in a minute.
pub(super) struct Server {
    part: Part,
    url: String,
    client: reqwest::Client,
    tokens: Vec<String>,
    asked: AtomicUsize,
    _database: Database,
    _postgres: Postgres,
    _files: Scratch,
}

impl Server {
    pub(super) async fn start(program: &Path, callers: usize) -> anyhow::Result<Self> {
        Self::start_with(program, callers, &[]).await
    }

    /// The same, with settings as the environment gives them.
    pub(super) async fn start_with(
        program: &Path,
        callers: usize,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let postgres = Postgres::builder().durable().start().await?;
        let database = postgres.database().await?;
        let files = scratch("bench-manager")?;
        let (password, keys) = (files.path().join("password"), files.path().join("keys"));
        fs::write(&password, PASSWORD)?;
        fs::set_permissions(&password, fs::Permissions::from_mode(0o600))?;
        let port = free_port();
        let mut part = Part::builder("slipway", program)
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--clusters-allow-loopback"])
            .args(["--database-url", database.url()])
            .args([Path::new("--data-dir"), files.path()])
            .args([Path::new("--admin-password-file"), &password])
            .args([Path::new("--key-file"), &keys]);
        for (name, value) in settings {
            part = part.env(name, value);
        }
        let part = part.start()?;
        let url = format!("http://127.0.0.1:{port}");
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_mins(1)).build()?;
        until("the server to be ready", PATIENCE, async || {
            let ready = client.get(format!("{url}/ready")).send().await;
            ready.is_ok_and(|reply| reply.status().is_success()).then_some(())
        })
        .await
        .with_context(|| last_words(&part))?;
        let tokens = tokens(database.url(), &keys, callers).await.context("making tokens for the callers")?;
        Ok(Self {
            part,
            url,
            client,
            tokens,
            asked: AtomicUsize::new(0),
            _database: database,
            _postgres: postgres,
            _files: files,
        })
    }

    /// A request of one of the callers.
    pub(super) fn get(&self, number: usize, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}/api/v1/{path}", self.url)).bearer_auth(self.token(number))
    }

    fn token(&self, number: usize) -> &str {
        &self.tokens[number % self.tokens.len()]
    }

    /// What a path says, asked by the next caller.
    pub(super) async fn read(&self, path: &str) -> anyhow::Result<Value> {
        let reply = self.get(self.asked.fetch_add(1, Ordering::Relaxed), path).send().await?;
        answer(reply).await.with_context(|| format!("GET /{path}"))
    }

    /// Posts as the next caller, and gives what was said and how long it took.
    pub(super) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<(Value, Duration)> {
        let token = self.token(self.asked.fetch_add(1, Ordering::Relaxed));
        let request = self.client.post(format!("{}/api/v1/{path}", self.url)).bearer_auth(token).json(body);
        let started = Instant::now();
        let reply = request.send().await?;
        let said = answer(reply).await.with_context(|| format!("POST /{path}"))?;
        Ok((said, started.elapsed()))
    }

    /// What the server wrote last, for those who read why something did not come to be.
    pub(super) fn last_words(&self) -> String {
        last_words(&self.part)
    }

    /// Posts all of them, a few at once, and gives how long each took.
    pub(super) async fn post_all(&self, path: &str, bodies: Vec<Value>) -> anyhow::Result<Seen> {
        let posts = bodies.into_iter().enumerate().map(async |(number, body)| {
            let request = self.client.post(format!("{}/api/v1/{path}", self.url));
            let request = request.bearer_auth(self.token(number)).json(&body);
            let started = Instant::now();
            let reply = request.send().await?;
            let status = reply.status();
            let text = reply.text().await?;
            if status.as_u16() != 201 {
                bail!("{status}: {text}");
            }
            Ok(started.elapsed())
        });
        let took: Vec<_> = futures::stream::iter(posts).buffer_unordered(AT_ONCE).collect().await;
        Ok(Seen::new(took.into_iter().collect::<anyhow::Result<_>>()?))
    }

    /// Waits until the server found the operator on so many clusters and looked at it there.
    pub(super) async fn until_seen(&self, operator: &str, clusters: usize) -> anyhow::Result<()> {
        let path = format!("operators/{operator}/health");
        let mut last = String::new();
        let mut number = 0;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            number += 1;
            let reply = self.get(number, &path).send().await?;
            last = reply.text().await?;
            let health: Value = serde_json::from_str(&last).unwrap_or_default();
            let seen = health["healthyClusters"].as_u64().unwrap_or(0);
            if seen >= clusters as u64 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        bail!(
            "the server did not see {operator} healthy on {clusters} clusters: {last}\n{}",
            last_words(&self.part)
        )
    }

    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        usage::memory(self.part.pid())
    }

    pub(super) fn processor_time(&self) -> anyhow::Result<Duration> {
        usage::processor_time(self.part.pid())
    }
}

/// What was said, if it was no refusal.
async fn answer(reply: reqwest::Response) -> anyhow::Result<Value> {
    let status = reply.status();
    let text = reply.text().await?;
    if !status.is_success() {
        bail!("{status}: {text}");
    }
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

fn last_words(part: &Part) -> String {
    let log = part.log();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Tokens of machines, made beside the server: it would let one caller make ten in a minute.
async fn tokens(url: &str, keys: &Path, count: usize) -> anyhow::Result<Vec<String>> {
    let store = PostgresStore::new(connect(&Options::new(url)).await?, "bench");
    let manager = Manager::new(parts(&store, keys)?, Settings::default());
    let login =
        manager.login(&Actor::anonymous(), "admin", &Password::new(PASSWORD.to_owned()), None).await?;
    let admin = manager.authenticate(&login.token).await?;
    let mut tokens = Vec::with_capacity(count);
    for number in 0..count {
        let new = NewToken {
            name: format!("caller-{number}"),
            role: Role::Admin,
            environments: Vec::new(),
            life: Duration::from_hours(24),
        };
        tokens.push(manager.create_token(&admin, &new).await?.secret);
    }
    Ok(tokens)
}
