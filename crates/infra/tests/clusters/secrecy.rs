//! Credentials are nowhere but where they belong.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::clusters::{ClusterHealthWorker, ClusterTokenWorker, Removal};
use slipway_testkit::ControlPlane;
use sqlx::AssertSqlSafe;
use tracing_subscriber::fmt::MakeWriter;

use crate::server::{Server, admin, keyring, parts};
use crate::support::database;

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Every row of every table, as text.
async fn content(store: &PostgresStore) -> String {
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
            .fetch_all(store.pool())
            .await
            .unwrap();
    let mut content = String::new();
    for table in tables {
        let rows: Option<String> =
            sqlx::query_scalar(AssertSqlSafe(format!("SELECT string_agg(t::text, E'\\n') FROM {table} t")))
                .fetch_one(store.pool())
                .await
                .unwrap();
        content.push_str(&rows.unwrap_or_default());
    }
    content
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn no_credential_is_in_rows_logs_or_words() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    tracing::trace!("the log begins");

    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let cluster = server.add("dev-1", &plane).await;
    let mut secrets = vec![server.token(cluster.id).await];
    server.work(&ClusterHealthWorker::new(server.manager.clone()), cluster.id).await.unwrap();
    let later = Server::with(&stored.store, keyring(1), Duration::from_hours(9), |clusters| clusters);
    later.work(&ClusterTokenWorker::new(later.manager.clone()), cluster.id).await.unwrap();
    secrets.push(server.token(cluster.id).await);
    let rotated = server.manager.rotate_cluster(&admin(), "dev-1", None).await.unwrap();
    secrets.push(server.token(cluster.id).await);
    let wrong = parts(&plane, "sesame-open");
    let words = format!("{wrong:?}");
    let refused = server.manager.rotate_cluster(&admin(), "dev-1", Some(wrong)).await.unwrap_err();
    secrets.push("sesame-open".to_owned());
    let access = server.access(cluster.id).await;
    let words = format!("{words} {refused:?} {rotated:?} {access:?} {:?} {cluster:?}", server.connections);
    let rows = content(&stored.store).await;
    server.manager.remove_cluster(&admin(), "dev-1", Removal::Orderly).await.unwrap();

    assert_eq!(secrets.len(), 4);
    assert!(rows.contains("dev-1") && rows.contains("cluster.rotate"), "the rows were read");
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("the log begins"), "{logged}");
    for secret in &secrets {
        // A token's last part is its signature; its first parts are no secret.
        let secret = secret.rsplit('.').next().unwrap();
        for (place, text) in [("rows", &rows), ("logs", &logged), ("words", &words)] {
            assert!(!text.contains(secret) && !text.contains(&hexadecimal(secret)), "in the {place}");
        }
    }
}
