//! Charts made in a test are real: helm pulls them over HTTP and from an OCI registry.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::Result;
use sha2::{Digest as _, Sha256};
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository, OciRegistry};
use slipway_testkit::{Program, Scratch, scratch};

const HELMS: [Program; 2] = [Program::Helm4, Program::Helm3];

fn sample(version: &str) -> Result<Chart> {
    ChartBuilder::new("greeter", version)
        .app_version("7.1")
        .values("greeting: hello\n")
        .template(
            "greeting.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: greeting\ndata:\n  text: {{ .Values.greeting }}\n",
        )
        .crd("greetings.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
        .build()
}

/// Helm with an empty home of its own.
struct Helm {
    program: std::path::PathBuf,
    home: Scratch,
}

impl Helm {
    fn new(program: Program) -> Result<Self> {
        Ok(Self { program: program.find()?, home: scratch("helm")? })
    }

    fn folder(&self) -> &Path {
        self.home.path()
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder());
        for home in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "DOCKER_CONFIG"] {
            command.env(home, self.folder());
        }
        command.env("NO_PROXY", "127.0.0.1");
        Ok(tokio::task::spawn_blocking(move || command.output()).await??)
    }

    async fn succeeds(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments).await?;
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    async fn fails(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments).await?;
        assert!(!output.status.success(), "{arguments:?} should fail");
        Ok(said(&output))
    }

    fn pulled(&self, chart: &Chart) -> Result<Vec<u8>> {
        Ok(std::fs::read(self.folder().join(chart.file_name()))?)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_same_chart_is_the_same_bytes() -> Result<()> {
    assert_eq!(sample("1.0.0")?, sample("1.0.0")?);
    assert_ne!(sample("1.0.0")?.digest(), sample("1.0.1")?.digest());
    Ok(())
}

#[tokio::test]
async fn helm_accepts_a_chart_and_renders_it() -> Result<()> {
    for program in HELMS {
        let helm = Helm::new(program)?;
        let archive = sample("1.0.0")?.write_to(helm.folder())?;
        let archive = archive.display().to_string();
        let rendered = helm.succeeds(&["template", "release", &archive, "--set", "greeting=ahoy"]).await?;
        assert!(rendered.contains("text: ahoy"), "{rendered}");
        assert!(helm.succeeds(&["show", "crds", &archive]).await?.contains("kind: CustomResourceDefinition"));
        assert!(helm.succeeds(&["show", "chart", &archive]).await?.contains("appVersion: \"7.1\""));
    }
    Ok(())
}

#[tokio::test]
async fn a_chart_pulls_over_http() -> Result<()> {
    let repository = ChartRepository::start().await?;
    let (old, new) = (sample("1.9.0")?, sample("1.10.0")?);
    repository.add(&old);
    repository.add(&new);
    for program in HELMS {
        let helm = Helm::new(program)?;
        helm.succeeds(&["pull", "greeter", "--repo", &repository.url()]).await?;
        assert_eq!(helm.pulled(&new)?, new.archive(), "the newest version by number");
        helm.succeeds(&["pull", "greeter", "--repo", &repository.url(), "--version", "1.9.0"]).await?;
        assert_eq!(helm.pulled(&old)?, old.archive());
        helm.succeeds(&["repo", "add", "ours", &repository.url()]).await?;
        let found = helm.succeeds(&["search", "repo", "ours/greeter", "--output", "json"]).await?;
        assert!(found.contains("1.10.0"), "{found}");
    }
    let fetched = |path: &str| repository.requests().iter().filter(|request| *request == path).count();
    assert_eq!(fetched("charts/greeter-1.10.0.tgz"), 2);
    repository.remove("greeter", "1.10.0")?;
    assert!(repository.remove("greeter", "1.10.0").is_err());
    Ok(())
}

#[tokio::test]
async fn the_index_names_the_digest_of_what_is_served() -> Result<()> {
    slipway_testkit::init();
    let repository = ChartRepository::start().await?;
    repository.add(&sample("1.0.0")?);
    let client = reqwest::Client::builder().no_proxy().build()?;
    let fetch = async |path: &str| {
        let url = format!("{}/{path}", repository.url());
        anyhow::Ok(client.get(url).send().await?.error_for_status()?.bytes().await?)
    };
    let index: serde_json::Value = serde_saphyr::from_slice(&fetch("index.yaml").await?)?;
    let entry = &index["entries"]["greeter"][0];
    let archive = fetch(entry["urls"][0].as_str().expect("an address")).await?;
    let digest: Vec<_> = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(entry["digest"], digest.concat());
    assert_eq!((&entry["version"], &entry["appVersion"]), (&"1.0.0".into(), &"7.1".into()));
    Ok(())
}

#[tokio::test]
async fn an_index_is_sent_once_and_changes_with_its_charts() -> Result<()> {
    slipway_testkit::init();
    let repository = ChartRepository::start().await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let fetch = async |tag: Option<&str>| {
        let mut request = client.get(format!("{}/index.yaml", repository.url()));
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        let reply = request.send().await?;
        let tag = reply.headers()["etag"].to_str()?.to_owned();
        anyhow::Ok((reply.status().as_u16(), tag, reply.text().await?))
    };
    repository.add(&sample("1.0.0")?);
    let (_, first, text) = fetch(None).await?;
    assert!(text.contains("1.0.0"));
    assert_eq!(fetch(Some(&first)).await?, (304, first.clone(), String::new()));
    repository.add(&sample("1.1.0")?);
    let (status, second, text) = fetch(Some(&first)).await?;
    assert!(status == 200 && second != first && text.contains("1.1.0"), "{text}");
    repository.remove("greeter", "1.1.0")?;
    assert_eq!(fetch(Some(&second)).await?.1, first, "the same charts, the same index");
    Ok(())
}

#[tokio::test]
async fn a_chart_pulls_over_tls_with_a_password() -> Result<()> {
    let repository = ChartRepository::builder().login("reader", "right").tls().start().await?;
    let chart = sample("1.0.0")?;
    repository.add(&chart);
    let url = repository.url();
    for program in HELMS {
        let helm = Helm::new(program)?;
        let authority = helm.folder().join("authority.pem").display().to_string();
        std::fs::write(&authority, repository.ca_pem().expect("it uses TLS"))?;
        let pull = ["pull", "greeter", "--repo", &url, "--username", "reader", "--password"];
        let pull = |more: &[&'static str]| [&pull[..], more].concat();
        let distrust = helm.fails(&pull(&["right"])).await?;
        assert!(distrust.contains("unknown authority"), "{distrust}");
        let refused = helm.fails(&[&pull(&["wrong"])[..], &["--ca-file", &authority]].concat()).await?;
        assert!(refused.contains("401"), "{refused}");
        helm.succeeds(&[&pull(&["right"])[..], &["--ca-file", &authority]].concat()).await?;
        assert_eq!(helm.pulled(&chart)?, chart.archive());
    }
    Ok(())
}

#[tokio::test]
async fn a_broken_repository_fails_until_it_is_mended() -> Result<()> {
    let repository = ChartRepository::start().await?;
    repository.add(&sample("1.0.0")?);
    let helm = Helm::new(Program::Helm4)?;
    let pull = ["pull", "greeter", "--repo", &repository.url()];
    repository.break_with(503)?;
    let error = helm.fails(&pull).await?;
    assert!(error.contains("503"), "{error}");
    repository.mend();
    helm.succeeds(&pull).await?;
    Ok(())
}

#[tokio::test]
async fn a_chart_pulls_from_an_oci_registry() -> Result<()> {
    let registry = OciRegistry::start().await?;
    let chart = sample("1.0.0+build.5")?;
    let digest = registry.push(&chart).await?;
    let reference = format!("{}/greeter", registry.url());
    for program in HELMS {
        let helm = Helm::new(program)?;
        let pull = ["pull", &reference, "--version", "1.0.0+build.5", "--plain-http"];
        let output = helm.run(&pull).await?;
        assert!(output.status.success(), "{}", said(&output));
        let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
        assert!(told.contains(&digest), "{told}");
        assert_eq!(helm.pulled(&chart)?, chart.archive());

        // The other way round: what helm pushes, helm pulls.
        let own = sample(if program == Program::Helm4 { "4.0.0" } else { "3.0.0" })?;
        let archive = own.write_to(helm.folder())?;
        helm.succeeds(&["push", &archive.display().to_string(), &registry.url(), "--plain-http"]).await?;
        std::fs::remove_file(&archive)?;
        helm.succeeds(&["pull", &reference, "--version", own.version(), "--plain-http"]).await?;
        assert_eq!(helm.pulled(&own)?, own.archive());
    }
    Ok(())
}

#[tokio::test]
async fn a_registry_asks_for_a_password_over_tls() -> Result<()> {
    slipway_testkit::init();
    let registry = OciRegistry::builder().login("reader", "right").tls().start().await?;
    let chart = sample("1.0.0")?;
    registry.push(&chart).await?;
    let reference = format!("{}/greeter", registry.url());
    for program in HELMS {
        let helm = Helm::new(program)?;
        let authority = helm.folder().join("authority.pem").display().to_string();
        std::fs::write(&authority, registry.ca_pem().expect("it uses TLS"))?;
        let pull = |password: &'static str| {
            ["pull", &reference, "--ca-file", &authority, "--username", "reader", "--password", password]
        };
        let refused = helm.fails(&pull("wrong")).await?;
        assert!(refused.contains("401"), "{refused}");
        helm.succeeds(&pull("right")).await?;
        assert_eq!(helm.pulled(&chart)?, chart.archive());
    }
    Ok(())
}
