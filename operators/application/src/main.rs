//! The program `application-operator`.
#![allow(clippy::print_stderr, reason = "why it does not start is said where people look, logs or not")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use slipway_application_operator::admission::{ApplicationPolicy, conversions, defaulter};
use slipway_application_operator::configuration::{Configuration, SECTION};
use slipway_application_operator::controller::ApplicationController;
use slipway_application_operator::crd::{self, Application};
use slipway_application_operator::policy::Profile;
use slipway_runtime::crd::{Conversion, Crdgen};
use slipway_runtime::leader::LeaderElection;
use slipway_runtime::runtime::Runtime;
use slipway_runtime::settings::{Flags, Live, Settings, Watcher, process_environment};
use slipway_runtime::webhook::Injection;
use tokio::sync::watch;

/// What the operator is called, in its Lease, its logs and its metrics.
const NAME: &str = "application-operator";

/// Runs Applications: a Deployment, its configuration, its Service and its disruption budget from one object.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the CRD as YAML
    Crdgen(Crdgen),
}

#[tokio::main]
async fn main() -> ExitCode {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match Box::pin(run(Arguments::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut causes = vec![error.to_string()];
            let mut source = error.source();
            while let Some(cause) = source {
                causes.push(cause.to_string());
                source = cause.source();
            }
            eprintln!("error: {}", causes.join(": "));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let definition = crd::definition(Conversion::None)?;
    if let Some(Command::Crdgen(crdgen)) = arguments.command {
        return Ok(crdgen.run(&[definition])?);
    }
    let loaded = Settings::load::<Configuration>(&arguments.flags, Some(SECTION), &process_environment)?;
    let settings = loaded.settings.clone();
    let configuration: Vec<String> = loaded.extra.webhook_configuration.clone().into_iter().collect();
    let telemetry = slipway_telemetry::init(&settings.logging(NAME, env!("CARGO_PKG_VERSION")))?;
    let watcher = Watcher::start(loaded);
    let profile = profile(watcher.live());

    let injection = Injection {
        validating: configuration.clone(),
        mutating: configuration.clone(),
        crds: if configuration.is_empty() {
            Vec::new()
        } else {
            vec![definition.metadata.name.clone().unwrap_or_default()]
        },
    };
    Runtime::builder(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .settings(settings)
        .follow(watcher.live(), Some(telemetry.filter_handle()))
        .leader_election(LeaderElection::named("application-operator-leader"))
        .controller(ApplicationController::spec())
        .validate::<Application>("application-policy", ApplicationPolicy::new(profile))
        .webhook(defaulter())
        .convert(conversions())
        .inject(injection)
        .crd(definition)
        .run()
        .await?;
    telemetry.shutdown();
    Ok(())
}

/// The rules that Applications are held against, whenever they change.
fn profile(mut live: watch::Receiver<Live<Configuration>>) -> watch::Receiver<Arc<Profile>> {
    let (sender, receiver) = watch::channel(Arc::new(live.borrow().extra.policy.clone()));
    tokio::spawn(async move {
        while live.changed().await.is_ok() {
            let now = Arc::new(live.borrow_and_update().extra.policy.clone());
            if sender.send(now).is_err() {
                return;
            }
        }
    });
    receiver
}
