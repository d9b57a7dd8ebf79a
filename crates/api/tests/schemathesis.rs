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
#[path = "schemathesis/things.rs"]
mod things;
#[path = "authorization/world.rs"]
mod world;

use std::path::Path;

use http::StatusCode;
use slipway_domain::access::Role;
use slipway_testkit::ControlPlane;
use slipway_testkit::charts::ChartRepository;
use tokio::process::Command;
use world::World;

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,ignored_auth,negative_data_rejection";

/// What a wrong request may be answered with; a tag that does not match is looked at before the body.
const CONFIG: &str = "[checks]\nnegative_data_rejection.expected-statuses = [\"4xx\", \"5xx\"]\n\n";

/// Streams have no end, and a session that ends takes the walk with it.
const LEFT_OUT: [&str; 3] = ["streamEvents", "logout", "changePassword"];

struct Run<'a> {
    program: &'a Path,
    address: &'a str,
    token: &'a str,
}

impl Run<'_> {
    /// Asks at least so often in a folder, whose `schemathesis.toml` counts, and gives what went wrong.
    async fn ask(&self, folder: &Path, least: u32, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(self.program);
        command
            .current_dir(folder)
            .arg("run")
            .arg(format!("{}/api/v1/openapi.json", self.address))
            .args(["--header", &format!("Authorization: Bearer {}", self.token)])
            .args(["--checks", CHECKS])
            // One worker: the parser of Python before 3.11.8 does not bear two.
            .args(["--workers", "1", "--seed", "1", "--request-timeout", "60"])
            .args(["--warnings", "off", "--generation-database", "none", "--no-color"])
            .args(arguments)
            .kill_on_drop(true);
        for left_out in LEFT_OUT {
            command.args(["--exclude-operation-id", left_out]);
        }
        let output = command.output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            let asked =
                text.split_once(" generated").and_then(|(before, _)| before.split_whitespace().last());
            let asked = asked.and_then(|number| number.parse::<u32>().ok()).unwrap_or_default();
            return if asked < least { Err(format!("it asked only {asked} times\n{text}")) } else { Ok(()) };
        }
        let from = text.find("= FAILURES =").or_else(|| text.find("= ERRORS =")).unwrap_or_default();
        let told: Vec<&str> = text[from..].lines().take(400).collect();
        let told = told.join("\n").replace(self.token, "<token>");
        Err(format!("{told}\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_are_as_the_document_says() {
    let Some(program) = slipway_programs::schemathesis() else {
        slipway_testkit::skipped("Schemathesis is not installed; cargo xtask setup installs it");
        return;
    };
    slipway_testkit::init();
    let (plane, charts) = (ControlPlane::start().await.unwrap(), ChartRepository::start().await.unwrap());
    let world = World::without_limits().await;
    let (_, token) = world.sessions().await.into_iter().find(|(role, _)| *role == Role::Admin).unwrap();
    let config = CONFIG.to_owned() + &things::make(&world, &token, &plane, &charts).await;
    let address = world.serve().await;
    let run = Run { program: &program, address: &address, token: &token };

    // About what there is. Nothing is removed, so that it stays.
    let folder = slipway_testkit::scratch("schemathesis").unwrap();
    std::fs::write(folder.path().join("schemathesis.toml"), config).unwrap();
    let known = ["--phases", "fuzzing", "--max-examples", "15", "--exclude-method", "DELETE"];
    if let Err(wrong) = run.ask(folder.path(), 300, &known).await {
        panic!("asked about what there is:\n{wrong}");
    }

    // About anything at all. People come last, by themselves: what it hears of it asks about, so sooner or later
    // it disables whom it asks for.
    let folder = slipway_testkit::scratch("schemathesis").unwrap();
    std::fs::write(folder.path().join("schemathesis.toml"), CONFIG).unwrap();
    let anything = ["--phases", "examples,coverage,fuzzing", "--max-examples", "15"];
    let things = [&anything[..], &["--exclude-tag", "users"]].concat();
    if let Err(wrong) = run.ask(folder.path(), 1000, &things).await {
        panic!("asked about anything:\n{wrong}");
    }
    let me = world.ask("GET", "/api/v1/authentication/me", Some(&token), None).await;
    assert_eq!(me.status, StatusCode::OK, "the token did not count to the end: {}", me.text());
    let people = [&anything[..], &["--include-tag", "users"]].concat();
    if let Err(wrong) = run.ask(folder.path(), 100, &people).await {
        panic!("asked about people:\n{wrong}");
    }
}
