//! `docs/guide/write-an-operator.md`, followed to the letter on a real control plane.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "guide/session.rs"]
mod session;
#[path = "guide/text.rs"]
mod text;

use session::Session;
use text::Guide;

const PROGRAM: &str = include_str!("../examples/first_operator.rs");

#[test]
fn the_program_of_the_guide_is_the_example_that_is_compiled() {
    let guide = Guide::read();
    assert_eq!(guide.block("rust"), PROGRAM, "copy examples/first_operator.rs into the guide");
}

#[test]
fn the_versions_that_the_guide_names_are_those_of_the_workspace() {
    let guide = Guide::read();
    let workspace = text::repository_file("Cargo.toml");
    for line in guide.block("toml").lines().filter(|line| line.contains('=') && !line.contains("path =")) {
        let (name, wanted) = text::dependency(line).unwrap();
        let ours = workspace.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
        let (_, ours) = text::dependency(ours).unwrap();
        assert!(format!("{ours}.").starts_with(&format!("{wanted}.")), "{name}: {wanted} and {ours}");
    }
}

#[tokio::test]
async fn the_commands_of_the_guide_do_what_it_says() {
    let guide = Guide::read();
    let session = Session::start(guide.line("cargo run -- ").expect("the guide runs its program")).await;
    session.write("greeting.yaml", guide.block("yaml"));
    let steps = guide.steps();
    assert!(steps.len() > 10, "the guide has its commands in blocks of `console`");
    for step in &steps {
        session.follow(step).await;
    }
    session.stop().await;
}

#[tokio::test]
async fn the_permissions_of_the_deployment_guide_are_all_that_the_operator_needs() {
    let manifests = Guide::of("docs/guide/operators/deployment.md");
    let arguments = "--install-crds=safe --lease-namespace=greeter";
    let session = Session::deploy(manifests.block("yaml"), "greeter", arguments).await;
    let guide = Guide::read();
    session.write("greeting.yaml", guide.block("yaml"));
    // The election shows in another namespace than on somebody's own machine.
    for step in guide.steps().iter().filter(|step| !step.command.contains("lease")) {
        session.follow(step).await;
    }
    let log = session.log();
    assert!(!log.contains("permission") && !log.contains("orbidden"), "{log}");
    session.stop().await;
}
