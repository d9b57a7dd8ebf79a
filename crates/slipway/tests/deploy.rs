//! Deployments as a person begins, follows and steers them: the program against a server whose clusters are in
//! memory; the engine and the database are real.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../api/tests/served/mod.rs"]
mod served;

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;
use served::fleet::Waters;
use served::{Server, server_on};
use slipway_domain::access::Environment;
use slipway_testkit::charts::ChartRepository;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

struct World {
    server: Server,
    waters: Waters,
    folder: slipway_testkit::Scratch,
    _charts: ChartRepository,
}

async fn world() -> World {
    let waters = Waters::default();
    let server = server_on(&waters).await;
    server
        .clusters(&[
            ("dev", Environment::Development),
            ("stage", Environment::Staging),
            ("prod", Environment::Production),
        ])
        .await;
    let charts = server.greeter().await;
    let folder = slipway_testkit::scratch("deploy").unwrap();
    for role in ["Admin", "Operator"] {
        std::fs::write(folder.path().join(role), role).unwrap();
    }
    World { server, waters, folder, _charts: charts }
}

impl World {
    fn command(&self, role: &str, words: &str) -> Command {
        let token: PathBuf = self.folder.path().join(role);
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipway"));
        command
            .args(words.split_whitespace())
            .args(["--server", &self.server.address])
            .arg("--token-file")
            .arg(token)
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME")
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, words: &str) -> (i32, String, String) {
        self.run_as("Admin", words).await
    }

    async fn run_as(&self, role: &str, words: &str) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(role, words).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_followed_line_by_line_and_its_end_is_the_exit_code() {
    let world = world().await;
    world.server.drive();
    let (code, out, err) = world.run("deploy greeter 1.1.0 --clusters dev --watch").await;
    assert_eq!(code, 0, "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("greeter 1.1.0   direct over 1 cluster   deployment "), "{out}");
    assert!(lines.iter().any(|line| line.contains("Z  ")), "news have their time: {out}");
    assert!(lines.iter().any(|line| line.contains("completed  1 of 1 cluster on 1.1.0 after ")), "{out}");
    assert!(!out.contains('✓') && !out.contains('\u{1b}'), "a log has words: {out}");

    let (code, out, _) = world.run("deployment list -o json").await;
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &listed["deployments"][0]["status"]), (0, &Value::from("Completed")));
    let id = listed["deployments"][0]["deploymentId"].as_str().unwrap()[..8].to_owned();
    for command in ["show", "why", "log", "steps", "preflight", "rollback-status", "watch"] {
        let (code, out, err) = world.run(&format!("deployment {command} {id}")).await;
        assert_eq!(code, 0, "{command}: {out}{err}");
        assert!(!out.is_empty(), "{command} says nothing");
    }
    let back = format!("deployment rollback {id} --reason oops --watch");
    let (code, out, err) = world.run(&back).await;
    assert_eq!(code, 0, "being back is what was asked for: {out}{err}");
    assert!(out.contains("rolled back"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_hurts_ends_with_1_and_its_reason() {
    let world = world().await;
    world.waters.break_helm("dev");
    world.server.drive();
    let (code, out, err) =
        world.run_as("Operator", "deploy greeter 1.1.0 --clusters dev --watch -o json").await;
    assert_eq!(code, 1, "{out}{err}");
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "RolledBack");
    assert!(last["rollbackReason"].as_str().unwrap().contains("helm: no endpoints available"), "{last:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_says_what_stands_in_the_way_and_ends_with_1() {
    let world = world().await;
    let (code, out, err) = world.run("deploy greeter 1.1.0 --clusters dev --dry-run").await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("nothing stands in the way"), "{out}");
    world.waters.refuse("stage");
    let (code, out, _) = world.run("deploy greeter 1.1.0 --clusters all --dry-run").await;
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("CRDs: 1 object would be refused") && out.contains("Greeting shop/web"), "{out}");
    assert!(out.contains("Verdict     refused on stage   exit 1"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_kept_in_files_and_shown_with_where_they_come_from() {
    let world = world().await;
    let file = world.folder.path().join("values.yaml");
    let text = "apiVersion: slipway.dev/v1\nkind: Values\nmetadata: {name: greeter-production}\nspec:\n  \
                operator: greeter\n  environments: [Production]\n  values: {replicas: 3, level: warn}\n";
    std::fs::write(&file, text).unwrap();
    let (code, out, err) = world.run(&format!("apply -f {}", file.display())).await;
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = world.run(&format!("diff -f {}", file.display())).await;
    assert_eq!(code, 0, "applied once: {out}{err}");
    let deploy = "deploy greeter 1.1.0 --clusters dev,prod --dry-run --all --set level=debug";
    let (code, out, err) = world.run(deploy).await;
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(
        out.matches("replicas = 3   from environment (Values greeter-production)").count(),
        1,
        "{out}"
    );
    assert_eq!(out.matches("level = debug   from deployment").count(), 2, "{out}");
    std::fs::write(&file, text.replace("level: warn", "password: hunter2")).unwrap();
    let (code, out, err) = world.run(&format!("apply -f {}", file.display())).await;
    assert_ne!(code, 0, "{out}{err}");
    assert!(err.contains("spec.values.password is called like a secret"), "{err}");
    assert!(!err.contains("hunter2") && !out.contains("hunter2"), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_meant_is_refused_before_anything_begins() {
    let world = world().await;
    let (code, _, err) = world.run("deploy greeter 1.4.9 --clusters dev").await;
    assert_eq!(code, 4, "{err}");
    assert!(
        err.starts_with("error: greeter has no version 1.4.9\n  newest are 1.1.0, 1.0.0 (checked "),
        "{err}"
    );
    assert!(err.contains("see all: slipway operator versions greeter"), "{err}");
    let (code, _, err) = world.run("deploy greeter 1.1.0 --clusters env=production --strategy direct").await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("1 of them in production") && err.contains("add --yes"), "{err}");
    let (code, _, err) = world.run("deploy greeter 1.1.0").await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("greeter is on no cluster yet"), "{err}");
    let (code, _, err) = world.run("deploy greeter 1.1.0 --clusters moon").await;
    assert_eq!((code, err.contains("there is no cluster moon")), (2, true), "{err}");
    let (code, _, err) = world.run("deployment show abcd").await;
    assert_eq!(code, 4, "{err}");
    let (_, out, _) = world.run("deployment list").await;
    assert!(out.starts_with("no deployments"), "{out}");

    let (code, out, err) = world.run("deploy greeter 1.1.0 -c env=production --strategy direct --yes").await;
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("follow it: slipway deployment watch "),
        "it is not followed without a terminal: {out}"
    );
    let (code, _, err) = world.run("deploy greeter 1.1.0 --clusters prod").await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("is under way on some of these clusters"), "{err}");
}

/// What a terminal of 100 columns was sent, and the exit code; Debian's `script` is the terminal.
async fn on_a_terminal(world: &World, words: &str) -> (i32, String) {
    let command = world.command("Admin", words);
    let std = command.as_std();
    let line: Vec<String> = std::iter::once(std.get_program())
        .chain(std.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let sized = format!("stty cols 100 rows 40; exec {}", line.join(" "));
    let output = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command", &sized, "/dev/null"])
        .env("HOME", world.folder.path())
        .env("TERM", "xterm-256color")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("NO_COLOR")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_is_drawn_over_until_the_end_stands_there() {
    let world = world().await;
    world.server.drive();
    let deploy = "deploy greeter 1.1.0 --clusters dev,stage --strategy direct --watch";
    let (code, out) = on_a_terminal(&world, deploy).await;
    if let Ok(file) = std::env::var("SLIPWAY_TERMINAL") {
        std::fs::write(file, &out).unwrap();
    }
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("\u{1b}["), "drawn over: {out}");
    let last = out.rsplit("A\r").next().unwrap();
    assert!(last.contains("\u{1b}[32m✓\u{1b}[0m"), "{last}");
    assert!(last.contains("dev") && last.contains("stage"), "{last}");
    assert!(last.contains("2 of 2 clusters on 1.1.0"), "{last}");

    world.waters.break_helm("dev");
    let (code, out) = on_a_terminal(&world, "deploy greeter 1.0.0 --clusters dev --watch --yes").await;
    let last = out.rsplit("A\r").next().unwrap();
    assert_eq!(code, 1, "{out}");
    assert!(last.contains("no endpoints available"), "the reason stays on the screen: {last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_is_told_how_to_come_back() {
    let world = world().await;
    world.waters.lose("dev");
    world.server.drive();
    let mut command = world.command("Admin", "deploy greeter 1.1.0 --clusters dev --watch");
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = told.next_line().await.unwrap().unwrap();
    assert!(first.starts_with("greeter 1.1.0   direct over 1 cluster"), "{first}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().await.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("follow again with: slipway deployment watch "), "{err}");
    let (_, out, _) = world.run("deployment list --active").await;
    assert!(out.contains("Planning"), "it goes on: {out}");
}
