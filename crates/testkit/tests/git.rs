//! Git repositories are real, the same in every run, and can be cloned and pushed to.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::Result;
use slipway_testkit::git::GitRepository;
use slipway_testkit::loopback::Access;
use slipway_testkit::{Program, scratch};

async fn sample() -> Result<GitRepository> {
    let repository = GitRepository::new().await?;
    repository.commit([("charts/app/Chart.yaml", "name: app\n"), ("README.md", "one\n")], "Begin").await?;
    repository.commit([("README.md", "two\n")], "Go on").await?;
    repository.tag("v1").await?;
    Ok(repository)
}

/// Git as a program under test would run it, without anything of this machine's user.
async fn git(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(Program::Git.find()?);
    command.args(["-c", "user.name=Somebody", "-c", "user.email=somebody@slipway.test"]).args(arguments);
    command.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    Ok(tokio::task::spawn_blocking(move || command.output()).await??)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn commits_have_the_same_id_in_every_run() -> Result<()> {
    let (one, other) = (sample().await?, sample().await?);
    let id = one.git(["rev-parse", "v1"]).await?;
    assert_eq!(id.len(), 40);
    assert_eq!(id, other.git(["rev-parse", "v1"]).await?);
    assert_eq!(
        one.git(["log", "--format=%s %aI"]).await?,
        "Go on 2024-01-01T00:01:00+00:00\nBegin 2024-01-01T00:00:00+00:00"
    );
    Ok(())
}

#[tokio::test]
async fn a_branch_has_its_own_commits() -> Result<()> {
    let repository = sample().await?;
    repository.branch("release").await?;
    let released = repository.commit([("README.md", "three\n")], "Release").await?;
    repository.branch("main").await?;
    assert_eq!(std::fs::read_to_string(repository.path().join("README.md"))?, "two\n");
    assert_eq!(repository.git(["rev-parse", "release"]).await?, released);
    let error = repository.git(["switch", "nowhere"]).await.expect_err("there is no such branch");
    assert!(error.to_string().contains("git switch nowhere failed"), "{error:#}");
    Ok(())
}

#[tokio::test]
async fn a_repository_is_cloned_from_its_file_address() -> Result<()> {
    let (repository, folder) = (sample().await?, scratch("clone")?);
    let cloned = git(folder.path(), &["clone", "--branch", "v1", &repository.url(), "copy"]).await?;
    assert!(cloned.status.success(), "{}", said(&cloned));
    assert_eq!(std::fs::read_to_string(folder.path().join("copy/charts/app/Chart.yaml"))?, "name: app\n");
    Ok(())
}

#[tokio::test]
async fn a_repository_is_cloned_and_pushed_to_over_http_with_a_password() -> Result<()> {
    let (repository, folder) = (sample().await?, scratch("clone")?);
    let server = repository.serve(Access::login("reader", "right")).await?;
    let address = |login: &str| server.url().replace("http://", &format!("http://{login}"));

    for wrong in ["", "reader:wrong@"] {
        let refused = git(folder.path(), &["clone", &address(wrong), "refused"]).await?;
        assert!(!refused.status.success(), "{wrong:?} was let in");
    }
    let cloned = git(folder.path(), &["clone", &address("reader:right@"), "copy"]).await?;
    assert!(cloned.status.success(), "{}", said(&cloned));

    let copy = folder.path().join("copy");
    std::fs::write(copy.join("README.md"), "pushed\n")?;
    git(&copy, &["commit", "--all", "--message", "From outside"]).await?;
    let pushed = git(&copy, &["push", "origin", "main"]).await?;
    assert!(pushed.status.success(), "{}", said(&pushed));
    assert_eq!(std::fs::read_to_string(repository.path().join("README.md"))?, "pushed\n");
    assert_eq!(repository.git(["log", "-1", "--format=%s"]).await?, "From outside");
    Ok(())
}

#[tokio::test]
async fn nothing_is_left_of_a_repository() -> Result<()> {
    let repository = sample().await?;
    let path = repository.path();
    assert!(path.exists());
    drop(repository);
    assert!(!path.exists());
    Ok(())
}
