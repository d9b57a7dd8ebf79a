//! The terminals of somebody who follows the guide.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
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
        let kubeconfig = plane.kubeconfig().to_owned();
        Self::run_operator(plane, &kubeconfig, arguments).await
    }

    /// Applies manifests, and starts the program as the ServiceAccount that they give it.
    pub(crate) async fn deploy(manifests: &str, account: &str, arguments: &str) -> Self {
        let plane = ControlPlane::start().await.unwrap();
        let directory = scratch("manifests").unwrap();
        fs::write(directory.path().join("all.yaml"), manifests).unwrap();
        let admin = Terminal { kubeconfig: plane.kubeconfig_file(), directory: directory.path().to_owned() };
        let said = admin.run("kubectl apply -f all.yaml").await;
        assert!(!said.contains("rror"), "{said}");
        let token = admin.run(&format!("kubectl create token {account} --namespace {account}")).await;
        let mut kubeconfig: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
        kubeconfig["users"][0]["user"] = json!({"token": token.trim()});
        Self::run_operator(plane, &kubeconfig.to_string(), arguments).await
    }

    async fn run_operator(plane: ControlPlane, kubeconfig: &str, arguments: &str) -> Self {
        let directory = scratch("guide").unwrap();
        let own = directory.path().join("operator.kubeconfig");
        fs::write(&own, kubeconfig).unwrap();
        let admin = format!("127.0.0.1:{}", free_port());
        let operator = Part::builder("first_operator", program())
            .args(arguments.split_whitespace())
            .args(["--admin-address", &admin])
            .env("KUBECONFIG", own)
            .start()
            .unwrap();
        let said = until("the operator to reconcile", PATIENCE, || async {
            operator.log().contains("reconciling").then_some(())
        })
        .await;
        assert!(said.is_ok(), "{}", operator.log());
        Self { plane, operator, admin, directory }
    }

    /// What the operator logged.
    pub(crate) fn log(&self) -> String {
        self.operator.log()
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
        let terminal = Terminal {
            kubeconfig: self.plane.kubeconfig_file(),
            directory: self.directory.path().to_owned(),
        };
        Some(terminal.run(command).await)
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

/// A shell with `kubectl`.
struct Terminal {
    kubeconfig: PathBuf,
    directory: PathBuf,
}

impl Terminal {
    /// What a command prints, in whatever way.
    async fn run(&self, command: &str) -> String {
        let kubectl = Program::Kubectl.find().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(&self.directory)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:{path}", kubectl.parent().unwrap().display()));
        let output = tokio::task::spawn_blocking(move || shell.output()).await.unwrap().unwrap();
        [output.stdout, output.stderr].iter().map(|text| String::from_utf8_lossy(text)).collect()
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
