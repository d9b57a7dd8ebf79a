//! Several servers on one database, one of which is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::SystemTime;

use futures::StreamExt as _;
use futures::future::join_all;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use slipway_testkit::postgres::{Database, Postgres};
use slipway_testkit::smtp::Smtp;
use slipway_testkit::{ControlPlane, until};
use sqlx::PgPool;
use tempfile::TempDir;

use crate::person::Person;
use crate::program::{LONG, Served, folder};

const PASSWORD: &str = "nobody will guess this";

/// Servers that share a database and their keys.
struct Servers {
    running: Vec<Served>,
    // The logs of all, also of those that are gone.
    folders: Vec<TempDir>,
    database: Database,
    pool: PgPool,
    admin: Person,
    http: Client,
    _postgres: Postgres,
}

impl Servers {
    async fn start(count: usize, settings: &Value) -> Self {
        let folders: Vec<_> = (0..count).map(|_| folder()).collect();
        let postgres = Postgres::shared().await.unwrap();
        let database = postgres.database().await.unwrap();
        let config = folders[0].path().join("slipway.yaml");
        fs::write(&config, settings.to_string()).unwrap();
        let arguments = [
            format!("--config={}", config.display()),
            format!("--database-url={}", database.url()),
            format!("--key-file={}", folders[0].path().join("keys").display()),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let running = join_all(folders.iter().map(|folder| Served::start(folder.path(), &arguments))).await;
        let first = running.iter().find(|served| served.printed.contains("password: ")).unwrap();
        let admin = Person::first_admin(first, PASSWORD).await;
        let pool = database.pool().await.unwrap();
        Self { running, folders, database, pool, admin, http: Client::new(), _postgres: postgres }
    }

    /// A POST at one of them.
    async fn post(
        &self,
        server: usize,
        path: &str,
        token: &str,
        body: &Value,
        key: Option<&str>,
    ) -> StatusCode {
        let url = format!("{}/api/v1{path}", self.running[server].url);
        let mut request = self.http.post(url).bearer_auth(token).json(body);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        request.send().await.unwrap().status()
    }

    async fn get(&self, server: usize, path: &str, token: &str) -> (StatusCode, Value) {
        let url = format!("{}/api/v1{path}", self.running[server].url);
        let reply = self.http.get(url).bearer_auth(token).send().await.unwrap();
        (reply.status(), reply.json().await.unwrap())
    }

    async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// Everything that all of them logged, with which it was.
    fn lines(&self) -> Vec<(usize, Value)> {
        let mut lines = Vec::new();
        for (server, folder) in self.folders.iter().enumerate() {
            let log = fs::read_to_string(folder.path().join("log")).unwrap();
            let read = log.lines().filter_map(|line| serde_json::from_str(line).ok());
            lines.extend(read.map(|line| (server, line)));
        }
        lines
    }

    /// For each cluster, who looked at it from when to when.
    fn looks(&self) -> BTreeMap<String, Vec<(String, String, usize)>> {
        let mut looks: BTreeMap<String, Vec<(String, String, usize)>> = BTreeMap::new();
        let mut begun: BTreeMap<(usize, i64), String> = BTreeMap::new();
        for (server, line) in self.lines() {
            let Some(epoch) = line["epoch"].as_i64().filter(|_| line["kind"] == "cluster-health") else {
                continue;
            };
            let at = line["timestamp"].as_str().unwrap().to_owned();
            if line["message"] == "work begins" {
                begun.insert((server, epoch), at);
            } else if line["message"] == "work ended" {
                let from = begun.remove(&(server, epoch)).unwrap();
                looks.entry(line["key"].as_str().unwrap().to_owned()).or_default().push((from, at, server));
            }
        }
        looks
    }

    /// Puts so many mails into the outbox, as a commit does.
    async fn write_mails(&self, name: &str, count: i32) {
        sqlx::query(
            "WITH message AS (
                 INSERT INTO outbox (key, recipient, kind, subject, text, facts)
                 SELECT $1 || n, jsonb_build_object('by', 'mail', 'address', 'ada@example.test'),
                     'alert.test', $1 || n, 'Look at it.', '{}'
                 FROM generate_series(1, $2) n RETURNING id
             )
             INSERT INTO work (kind, key, due_at) SELECT 'outbox', id::text, now() FROM message",
        )
        .bind(name)
        .bind(count)
        .execute(&self.pool)
        .await
        .unwrap();
    }

    async fn until_sent(&self) {
        until("all mails to be sent", LONG, async || {
            let waiting = "SELECT count(*) FROM outbox WHERE sent_at IS NULL";
            (self.count(waiting).await == 0).then_some(())
        })
        .await
        .unwrap();
    }
}

fn settings(smtp: &Smtp) -> Value {
    json!({
        "clusters": {"allowLoopback": true},
        "clusterHealthEvery": "PT1S",
        "log": {"filter": "info,slipway_infra::workers=debug"},
        "mail": {
            "host": "127.0.0.1", "port": smtp.address().port(), "encryption": "none",
            "from": "slipway@example.test",
        },
    })
}

fn subjects(smtp: &Smtp, name: &str) -> Vec<String> {
    let mails = smtp.mails().into_iter().map(|mail| mail.subject);
    let mut subjects: Vec<_> = mails.filter(|subject| subject.starts_with(name)).collect();
    subjects.sort();
    subjects
}

fn once(name: &str, count: usize) -> Vec<String> {
    let mut all: Vec<_> = (1..=count).map(|number| format!("{name}{number}")).collect();
    all.sort();
    all
}

#[tokio::test]
async fn three_servers_share_the_work_and_one_killed_loses_nothing() {
    let (smtp, plane) = (Smtp::start().await.unwrap(), ControlPlane::start().await.unwrap());
    let mut servers = Servers::start(3, &settings(&smtp)).await;
    let printed = servers.running.iter().filter(|served| served.printed.contains("password: ")).count();
    assert_eq!(printed, 1, "one of them made the admin");

    // Whoever logged in at one is known at all, and what one keeps the others see.
    let token = servers.admin.token();
    let own = plane.kubeconfig_file().display().to_string();
    for name in ["one", "two", "three"] {
        let add = ["cluster", "add", name, "--kubeconfig", &own, "--allow-duplicate"];
        servers.admin.runs(&add).await;
        for server in 0..3 {
            assert_eq!(servers.get(server, &format!("/clusters/{name}"), &token).await.0, 200);
        }
    }

    // The same request at all of them at once is one request.
    let ada = json!({"username": "ada", "role": "Viewer"});
    let asked = (0..9).map(|n| servers.post(n % 3, "/users", &token, &ada, None));
    let mut replies = join_all(asked).await;
    replies.sort();
    assert_eq!(replies[0], 201);
    assert!(replies[1..].iter().all(|status| *status == 409), "{replies:?}");
    let made = "SELECT count(*) FROM audit_log WHERE action = 'user.create' AND resource = 'user/ada' \
                AND result = 'success'";
    assert_eq!(servers.count(made).await, 1, "nothing is written down twice");
    let key = Some("b1c7fe3c-one-of-its-own");
    let rule = |server| servers.post(server, "/clusters/one/disable", &token, &Value::Null, key);
    let replies = join_all((0..3).map(rule)).await;
    assert!(replies.iter().any(|status| *status == 200), "{replies:?}");
    assert!(replies.iter().all(|status| [200, 409].contains(&status.as_u16())), "{replies:?}");
    let done = "SELECT count(*) FROM audit_log WHERE action = 'cluster.disable' AND result = 'success'";
    assert_eq!(servers.count(done).await, 1);
    assert_eq!(servers.post(1, "/clusters/one/enable", &token, &Value::Null, None).await, 200);

    // Every mail once.
    servers.write_mails("first-", 40).await;
    servers.until_sent().await;
    assert_eq!(subjects(&smtp, "first-"), once("first-", 40));

    // All of them look at clusters, at each cluster one at a time.
    until("all servers to look at clusters", LONG, async || {
        let looks = servers.looks();
        let who: BTreeSet<_> = looks.values().flatten().map(|(.., server)| *server).collect();
        (who.len() == 3 && looks.len() == 3).then_some(())
    })
    .await
    .unwrap();

    // One is killed in the middle of its mails: the others send them, and go on with everything.
    smtp.stall();
    servers.write_mails("second-", 30).await;
    until("all to be at work on mails", LONG, async || {
        let holding = "SELECT count(DISTINCT claimed_by) FROM work WHERE kind = 'outbox'";
        (servers.count(holding).await == 3).then_some(())
    })
    .await
    .unwrap();
    servers.running.remove(0).kill().await;
    smtp.resume();
    servers.until_sent().await;
    assert_eq!(subjects(&smtp, "second-"), once("second-", 30), "none is lost, and none is doubled");
    let last = "SELECT min(extract(epoch FROM last_health_check_at))::int8 FROM clusters";
    let now: i64 = servers.count("SELECT extract(epoch FROM clock_timestamp())::int8").await;
    until("every cluster to be looked at again", LONG, async || {
        (servers.count(last).await > now).then_some(())
    })
    .await
    .unwrap();
    for looks in servers.looks().into_values() {
        let mut looks = looks;
        looks.sort();
        for pair in looks.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "two looked at once: {pair:?}");
        }
    }
    for served in servers.running.drain(..) {
        assert_eq!(served.stop().await.code(), Some(0));
    }
    assert!(servers.database.url().starts_with("postgres"));
}

/// The minute that limits are counted in.
fn minute() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 60
}

#[tokio::test]
async fn limits_and_what_ends_count_for_all_servers() {
    let smtp = Smtp::start().await.unwrap();
    let servers = Servers::start(2, &settings(&smtp)).await;
    let admin = servers.admin.token();
    // Each attempt with a token of its own; one that falls into two minutes shows nothing.
    for attempt in 0.. {
        let name = format!("machine-{attempt}");
        let token = servers.admin.runs(&["token", "create", &name, "--role", "Admin"]).await;
        let token = token.trim();
        let begun = minute();
        let asked = (0..70).map(|n| servers.get(n % 2, "/clusters", token));
        let replies: Vec<_> = futures::stream::iter(asked).buffer_unordered(6).collect().await;
        if minute() != begun {
            continue;
        }
        let (served, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|(status, _)| *status == 200);
        assert_eq!(served.len(), 60, "each alone would have let all of them in");
        assert!(refused.iter().all(|(status, _)| *status == 429), "{refused:?}");
        assert_eq!(refused[0].1["error"]["code"], "RATE_LIMIT_EXCEEDED");
        break;
    }

    // What is revoked at one ends at the other, too.
    let token = servers.admin.runs(&["token", "create", "ci", "--role", "Viewer"]).await;
    let token = token.trim();
    assert_eq!(servers.get(1, "/operators", token).await.0, 200);
    servers.admin.runs(&["token", "revoke", "ci"]).await;
    until("the token to end everywhere", LONG, async || {
        (servers.get(1, "/operators", token).await.0 == 401).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(servers.get(1, "/operators", &admin).await.0, 200);
}

#[tokio::test]
async fn a_server_with_other_keys_is_refused() {
    let (one, two) = (folder(), folder());
    let postgres = Postgres::shared().await.unwrap();
    let database = postgres.database().await.unwrap();
    let url = format!("--database-url={}", database.url());
    let served = Served::start(one.path(), &[&url]).await;
    let output = crate::program::slipway(&["serve", "--listen=127.0.0.1:0", &url, "--data-dir"])
        .arg(two.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("all servers of a database need the same keys"), "{said}");
    assert!(said.contains("it was sealed with key"), "{said}");
    assert_eq!(served.stop().await.code(), Some(0));
}
