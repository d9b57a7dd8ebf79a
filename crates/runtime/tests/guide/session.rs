//! The terminals of somebody who follows the guide.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use slipway_testkit::{ControlPlane, Part, Program, Scratch, free_port, scratch, until};

use super::text::{Step, like};

/// How long anything may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_mins(3);

/// A cluster, the operator in one terminal, and another terminal.
pub(crate) struct Session {
    plane: ControlPlane,
    operator: Part,
    admin: String,
    directory: Scratch,
}

impl Session {
    /// Starts the program of the guide with these arguments, as `cargo run` would.
    pub(crate) async fn start(arguments: &str) -> Self {
        let plane = ControlPlane::start().await.unwrap();
        let admin = format!("127.0.0.1:{}", free_port());
        let operator = Part::builder("first_operator", program())
            .args(arguments.split_whitespace())
            .args(["--admin-address", &admin])
            .env("KUBECONFIG", plane.kubeconfig_file())
            .start()
            .unwrap();
        let said = until("the operator to reconcile", PATIENCE, || async {
            operator.log().contains("reconciling").then_some(())
        })
        .await;
        assert!(said.is_ok(), "{}", operator.log());
        Self { plane, operator, admin, directory: scratch("guide").unwrap() }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// Runs a command of the guide. What only looks is run until it prints what it shall.
    pub(crate) async fn follow(&self, step: &Step) {
        let looks = step.command.starts_with("kubectl get ") || step.command.starts_with("curl ");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let said = self.run(&step.command).await;
            if said.as_deref().is_some_and(|said| like(&step.output, said)) {
                return;
            }
            assert!(
                looks && Instant::now() < deadline,
                "`{}` printed\n{}\ninstead of\n{}",
                step.command,
                said.unwrap_or_default(),
                step.output
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn run(&self, command: &str) -> Option<String> {
        if let Some(url) = command.strip_prefix("curl -s ") {
            let url = format!("http://{}", url.replace("localhost:3000", &self.admin));
            return reqwest::get(url).await.ok()?.text().await.ok();
        }
        let kubectl = Program::Kubectl.find().unwrap();
        let mut shell = Command::new("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .args(["-c", command])
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.plane.kubeconfig_file())
            .env("PATH", format!("{}:{path}", kubectl.parent().unwrap().display()));
        let output = tokio::task::spawn_blocking(move || shell.output()).await.unwrap().unwrap();
        Some([output.stdout, output.stderr].iter().map(|text| String::from_utf8_lossy(text)).collect())
    }

    /// Ends the operator as Ctrl-C does.
    pub(crate) async fn stop(self) {
        self.operator.signal(rustix::process::Signal::INT).unwrap();
        until("the operator to end", PATIENCE, || async { (!self.operator.is_running()).then_some(()) })
            .await
            .unwrap();
        let log = self.operator.log();
        assert!(log.contains("\"ended\""), "{log}");
    }
}

/// The example, which `cargo test` builds beside the tests; `cargo test --test guide` alone does not.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(Path::parent).unwrap().join("examples/first_operator");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/first_operator.rs");
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    if age(&program).is_none_or(|built| age(&source).is_some_and(|written| built < written)) {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "slipway-runtime", "--example", "first_operator"])
            .status()
            .unwrap();
        assert!(built.success(), "the example does not compile");
    }
    program
}
