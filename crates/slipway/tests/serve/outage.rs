//! PostgreSQL away for half a minute, while people and machines go on asking.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::postgres::Postgres;
use slipway_testkit::smtp::Smtp;
use slipway_testkit::{ControlPlane, until};

use crate::person::Person;
use crate::program::{LONG, Served, folder};

const AWAY: Duration = Duration::from_secs(30);

/// What somebody was answered: at which request, with which status and body.
type Answers = Arc<Mutex<Vec<(String, u16, Value)>>>;

/// Asks again and again, reading and writing in turn, until told to stop.
async fn ask(url: String, token: String, number: usize, end: Arc<AtomicBool>, answers: Answers) {
    let client = reqwest::Client::builder().timeout(Duration::from_mins(2)).build().unwrap();
    for turn in 0.. {
        if end.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("made-{number}-{turn}");
        // As often as the limits allow.
        let (what, request) = match (turn + 2 * number) % 12 {
            0 => {
                let body = json!({"username": name, "role": "Viewer"});
                (name, client.post(format!("{url}/api/v1/users")).json(&body))
            }
            odd if odd % 2 == 1 => (String::new(), client.get(format!("{url}/api/v1/clusters"))),
            _ => (String::new(), client.get(format!("{url}/api/v1/operators"))),
        };
        // A connection that breaks, or an answer that never comes, is not a clean failure.
        let reply = request.bearer_auth(&token).send().await.expect("every request is answered");
        let status = reply.status().as_u16();
        let body = reply.json().await.unwrap_or_default();
        answers.lock().unwrap().push((what, status, body));
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}

#[tokio::test]
async fn half_a_minute_without_the_database_is_told_and_then_over() {
    let (folder, smtp) = (folder(), Smtp::start().await.unwrap());
    let plane = ControlPlane::start().await.unwrap();
    let mut postgres = Postgres::builder().durable().start().await.unwrap();
    let database = postgres.database().await.unwrap();
    let config = folder.path().join("slipway.yaml");
    let mail = json!({"host": "127.0.0.1", "port": smtp.address().port(), "encryption": "none",
        "from": "slipway@example.test"});
    let settings = json!({"clusters": {"allowLoopback": true}, "clusterHealthEvery": "PT1S", "mail": mail});
    fs::write(&config, settings.to_string()).unwrap();
    let arguments = [format!("--config={}", config.display()), format!("--database-url={}", database.url())];
    let served = Served::start(folder.path(), &[&arguments[0], &arguments[1]]).await;
    let admin = Person::first_admin(&served, "nobody will guess this").await;
    let own = plane.kubeconfig_file().display().to_string();
    admin.runs(&["cluster", "add", "dev", "--kubeconfig", &own]).await;

    let (end, answers) = (Arc::new(AtomicBool::new(false)), Answers::default());
    let mut asking = Vec::new();
    for number in 0..6 {
        let token = admin.runs(&["token", "create", &format!("machine-{number}"), "--role", "Admin"]).await;
        let (url, token) = (served.url.clone(), token.trim().to_owned());
        asking.push(tokio::spawn(ask(url, token, number, Arc::clone(&end), Arc::clone(&answers))));
    }
    let count =
        |wanted: u16| answers.lock().unwrap().iter().filter(|(_, status, _)| *status == wanted).count();
    until("requests to be served", LONG, async || (count(200) > 20 && count(201) > 5).then_some(()))
        .await
        .unwrap();

    let before = answers.lock().unwrap().len();
    postgres.stop().await.unwrap();
    until("failures to be told", LONG, async || (count(503) > 20).then_some(())).await.unwrap();
    assert_eq!((served.status("/health").await, served.status("/ready").await), (200, 503));
    tokio::time::sleep(AWAY).await;
    postgres.restart().await.unwrap();
    let (read, written) = (count(200), count(201));
    until("requests to be served again", LONG, async || {
        (count(200) > read + 20 && count(201) > written + 5 && served.status("/ready").await == 200)
            .then_some(())
    })
    .await
    .unwrap();
    end.store(true, Ordering::Relaxed);
    for asking in asking {
        asking.await.unwrap();
    }

    let pool = database.pool().await.unwrap();
    let users: Vec<String> = sqlx::query_scalar("SELECT username FROM users").fetch_all(&pool).await.unwrap();
    for (index, (made, status, body)) in answers.lock().unwrap().iter().enumerate() {
        match status {
            200 => {}
            201 => assert!(users.contains(made), "{made} was confirmed and is lost"),
            503 => {
                assert_eq!(body["error"]["code"], "UNAVAILABLE", "{body}");
                assert!(index >= before, "it was told too early");
            }
            other => panic!("answer {index} is {other}: {body}"),
        }
    }
    // The work in the background goes on as well, and so do people.
    let checked = "SELECT extract(epoch FROM last_health_check_at)::int8 FROM clusters";
    let now: i64 =
        sqlx::query_scalar("SELECT extract(epoch FROM now())::int8").fetch_one(&pool).await.unwrap();
    until("the cluster to be looked at", LONG, async || {
        let at: i64 = sqlx::query_scalar(checked).fetch_one(&pool).await.unwrap();
        (at > now).then_some(())
    })
    .await
    .unwrap();
    admin.runs(&["cluster", "list"]).await;
    assert_eq!(served.stop().await.code(), Some(0));
}
