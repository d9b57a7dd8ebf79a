//! The server keeps to its own document: Schemathesis makes requests from it, good and bad ones, and looks at
//! the replies.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../infra/tests/support/mod.rs"]
mod support;
#[path = "authorization/world.rs"]
mod world;

use slipway_domain::access::Role;
use tokio::process::Command;
use world::World;

const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_are_as_the_document_says() {
    let Some(schemathesis) = slipway_programs::schemathesis() else {
        slipway_testkit::skipped("Schemathesis is not installed; cargo xtask setup installs it");
        return;
    };
    let world = World::without_limits().await;
    let address = world.serve().await;
    let (_, token) = world.sessions().await.into_iter().find(|(role, _)| *role == Role::Admin).unwrap();
    let directory = slipway_testkit::scratch("schemathesis").unwrap();
    let output = Command::new(schemathesis)
        .current_dir(directory.path())
        .arg("run")
        .arg(format!("{address}/api/v1/openapi.json"))
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--checks", CHECKS])
        // Streams have no end, and a session that ends takes the walk with it.
        .args(["--exclude-operation-id", "streamEvents", "--exclude-operation-id", "logout"])
        .args(["--exclude-operation-id", "changePassword"])
        .args(["--max-examples", "10", "--workers", "2", "--seed", "1", "--request-timeout", "30"])
        .args(["--generation-database", "none", "--no-color"])
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let tail: Vec<&str> = text.lines().rev().take(200).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    assert!(
        output.status.success(),
        "{}\n{}",
        tail.join("\n").replace(&token, "<token>"),
        String::from_utf8_lossy(&output.stderr)
    );
}
