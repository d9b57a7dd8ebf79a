//! The real helm, 3 and 4.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use slipway_helm::{Helm, HelmError, Kubeconfig, Major, Scope, Template};
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::{ControlPlane, Program, scratch};
use zeroize::Zeroizing;

const BOTH: [(Program, Major); 2] = [(Program::Helm3, Major::Three), (Program::Helm4, Major::Four)];

fn chart() -> Result<Chart> {
    ChartBuilder::new("greeter", "1.2.3")
        .values("greeting: hello\n")
        .template(
            "greeting.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\ndata:\n  text: {{ required \"a greeting is needed\" .Values.greeting }}\n  secret: {{ .Values.secret | default \"none\" }}\n",
        )
        .crd("greetings.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: greetings.example.com\n")
        .build()
}

async fn helm(program: Program) -> Result<Helm> {
    Ok(Helm::at(&program.find()?, slipway_testkit::guardian::guardian()?).await?)
}

fn values(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Homes that runs left behind.
fn homes() -> BTreeSet<PathBuf> {
    std::fs::read_dir(std::env::temp_dir())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("slipway-helm-"))
        })
        .collect()
}

fn install(program: &Path, home: &Path, cluster: &ControlPlane, archive: &Path) -> Result<()> {
    let mut command = Command::new(program);
    for name in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(name, home);
    }
    let output = command
        .args(["upgrade", "--install", "web", "--namespace", "apps", "--create-namespace", "--skip-crds"])
        .args(["--set", "greeting=ahoy,secret=hunter2", "--kubeconfig"])
        .arg(cluster.kubeconfig_file())
        .arg(archive)
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test]
async fn each_line_of_helm_is_told_from_the_other() -> Result<()> {
    for (program, major) in BOTH {
        let helm = helm(program).await?;
        assert_eq!(helm.major(), major);
        assert_eq!(helm.version().major, if major == Major::Three { 3 } else { 4 });
    }
    let guardian = slipway_testkit::guardian::guardian()?;
    let strange = Helm::at(Path::new("/bin/echo"), guardian).await.unwrap_err();
    assert!(matches!(strange, HelmError::NotHelm { .. }), "{strange}");
    Ok(())
}

#[tokio::test]
async fn a_chart_is_rendered_with_values_and_with_or_without_its_definitions() -> Result<()> {
    let chart = chart()?;
    for (program, _) in BOTH {
        let helm = helm(program).await?;
        let given = values(&json!({"greeting": "ahoy"}));
        let template = Template::of(chart.archive(), "web", "apps", &given);
        let rendered = helm.template(template.clone()).await?;
        assert!(rendered.contains("text: ahoy") && rendered.contains("namespace: apps"), "{rendered}");
        assert!(!rendered.contains("CustomResourceDefinition"));
        let rendered = helm.template(Template { include_crds: true, ..template }).await?;
        assert!(rendered.contains("greetings.example.com"), "{rendered}");
    }
    Ok(())
}

#[tokio::test]
async fn a_chart_that_misses_a_value_says_which() -> Result<()> {
    let chart = chart()?;
    for (program, _) in BOTH {
        let helm = helm(program).await?;
        let given = values(&json!({"greeting": null}));
        let error = helm.template(Template::of(chart.archive(), "web", "apps", &given)).await.unwrap_err();
        assert!(
            matches!(&error, HelmError::Render { reason } if reason.contains("a greeting is needed")),
            "{error}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_chart_that_never_ends_or_prints_without_end_is_ended() -> Result<()> {
    let endless = ChartBuilder::new("endless", "1.0.0")
        .template("x.yaml", "{{- range $i := until 200000 }}{{ range $j := until 200000 }}{{ end }}{{ end }}")
        .build()?;
    let long = ChartBuilder::new("long", "1.0.0")
        .template("x.yaml", "{{- range $i := until 2000 }}\n# {{ repeat 100 \"x\" }}{{ end }}\na: 1\n")
        .build()?;
    let helm = helm(Program::Helm4).await?;
    let given = Map::new();
    let template = Template::of(endless.archive(), "web", "apps", &given);
    let error =
        helm.template(Template { deadline: Duration::from_secs(2), ..template.clone() }).await.unwrap_err();
    assert!(matches!(error, HelmError::Deadline { .. }), "{error}");
    let template = Template { archive: long.archive(), most: 1000, ..template };
    let error = helm.template(template).await.unwrap_err();
    assert!(matches!(error, HelmError::TooMuch { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn releases_of_a_cluster_are_read_back_and_nothing_is_left_behind() -> Result<()> {
    slipway_testkit::init();
    let cluster = ControlPlane::start().await?;
    let access = Kubeconfig::new(Zeroizing::new(cluster.kubeconfig().to_owned()));
    assert_eq!(format!("{access:?}"), "Kubeconfig(…)");
    let folder = scratch("helm")?;
    let archive = chart()?.write_to(folder.path())?;
    for (count, (program, _)) in (1_u32..).zip(BOTH) {
        install(&program.find()?, folder.path(), &cluster, &archive)?;
        let helm = helm(program).await?;
        let before = homes();
        let releases = helm.releases(&access, Scope::Everywhere).await?;
        assert_eq!(releases.len(), 1);
        assert_eq!((releases[0].name.as_str(), releases[0].namespace.as_str()), ("web", "apps"));
        assert_eq!((releases[0].chart.as_str(), releases[0].status.as_str()), ("greeter-1.2.3", "deployed"));
        assert_eq!(releases[0].revision, count);
        assert!(helm.releases(&access, Scope::Namespace("default")).await?.is_empty());
        let given = helm.values(&access, "apps", "web").await?;
        assert_eq!(given, values(&json!({"greeting": "ahoy", "secret": "hunter2"})));
        assert!(helm.manifest(&access, "apps", "web").await?.contains("text: ahoy"));
        let history = helm.history(&access, "apps", "web").await?;
        assert_eq!(
            history.iter().map(|revision| revision.revision).collect::<Vec<_>>(),
            (1..=count).collect::<Vec<_>>()
        );
        let missing = helm.values(&access, "apps", "other").await.unwrap_err();
        assert!(matches!(&missing, HelmError::NoRelease { release } if release == "other"), "{missing}");
        let left: Vec<_> = homes().difference(&before).cloned().collect();
        // Other tests run beside this one; what holds a kubeconfig must be gone.
        assert!(!left.iter().any(|home| home.join("kubeconfig").exists()), "{left:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_named_as_such() -> Result<()> {
    let port = slipway_testkit::free_port();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:{port}'}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{token: sesame}}}}]\n"
    );
    let access = Kubeconfig::new(Zeroizing::new(text));
    for (program, _) in BOTH {
        let error = helm(program).await?.releases(&access, Scope::Everywhere).await.unwrap_err();
        assert!(matches!(error, HelmError::Unreachable { .. }), "{error}");
        assert!(!error.to_string().contains("sesame"));
    }
    Ok(())
}
