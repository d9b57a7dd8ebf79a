//! helm killed in the middle, and somebody else who goes on.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use slipway_domain::rollout::{Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_testkit::until;
use tokio::net::TcpListener;

use crate::dock::{BOTH, Dock, MINUTE, chart, released};

/// The helm that works on a chart in a private home and changes the release `fleet` of this cluster.
fn helm_of(server: &str) -> Option<Pid> {
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        // The guardian has the same words behind its own.
        if words.get(1).is_none_or(|word| word != "upgrade") || !words.iter().any(|word| word == "fleet") {
            continue;
        }
        let Some(archive) = words.iter().find(|word| word.ends_with("chart.tgz")) else { continue };
        let config = std::fs::read_to_string(archive.replace("chart.tgz", "kubeconfig")).unwrap_or_default();
        if config.contains(server) {
            return Pid::from_raw(id);
        }
    }
    None
}

#[tokio::test]
async fn helm_that_was_killed_in_the_middle_is_gone_on_with_by_another_server() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        dock.install(&chart("1.0.0").build().unwrap()).await;
        // Whoever writes this object waits for an answer that never comes.
        let silence = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hold = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "slow"}, "webhooks": [{"name": "slow.sea.dev", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 30, "failurePolicy": "Fail",
                "objectSelector": {"matchLabels": {"slow": "yes"}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}],
                "clientConfig": {"url": format!("https://{}/", silence.local_addr().unwrap())}}]});
        let registrations =
            dock.of("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", None);
        registrations.create(&PostParams::default(), &serde_json::from_value(hold).unwrap()).await.unwrap();
        let slow = "apiVersion: v1\nkind: Service\nmetadata: {name: slow, labels: {slow: 'yes'}}\nspec: {clusterIP: None, ports: [{port: 80}]}\n";
        let probe: kube::core::DynamicObject = serde_json::from_value(json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "probe", "labels": {"slow": "yes"}}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})).unwrap();
        let tried = PostParams { dry_run: true, ..PostParams::default() };
        until("the registration to count", MINUTE, async || {
            // Asked in vain for a moment: it is held.
            let services = dock.of("", "v1", "Service", Some("sea"));
            let asked = services.create(&tried, &probe);
            tokio::time::timeout(Duration::from_secs(2), asked).await.is_err().then_some(())
        })
        .await
        .unwrap();
        let next = chart("1.1.0").template("service.yaml", slow).build().unwrap();
        let subject = dock.subject(&next);
        let mut act = Dock::step(&subject, StepKind::Release, None);
        let (fleet, first) = (Arc::clone(&dock.fleet), act.clone());
        let server = tokio::spawn(async move { fleet.act(&first).await.outcome });
        until("helm to be in the middle of it", MINUTE, async || {
            let pending = dock.revisions().await.iter().any(|(_, status)| status == "pending-upgrade");
            let changed = dock.map("config").await.is_some_and(|map| map["chart"] == "1.1.0");
            (pending && changed).then_some(())
        })
        .await
        .unwrap();
        let helm = helm_of(dock.plane.server()).expect("helm runs");
        kill_process(helm, Signal::KILL).unwrap();
        // The server is lost, too, before it can write down anything.
        server.abort();
        let _ = server.await;
        registrations.delete("slow", &DeleteParams::default()).await.unwrap();
        until("the registration to be forgotten", MINUTE, async || {
            let services = dock.of("", "v1", "Service", Some("sea"));
            let asked = services.create(&tried, &probe);
            tokio::time::timeout(Duration::from_secs(2), asked).await.ok()?.ok()
        })
        .await
        .unwrap();
        assert_eq!(dock.revisions().await.last().unwrap(), &(2, "pending-upgrade".to_owned()));

        act.resumed = true;
        let outcome = dock.fleet.act(&act).await.outcome;
        assert_eq!(released(&outcome), "sea/fleet.v2", "{program:?}");
        assert_eq!(dock.revisions().await, [(1, "superseded".to_owned()), (2, "deployed".to_owned())]);
        assert_eq!(dock.map("config").await.unwrap()["chart"], "1.1.0");
        assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v2", "twice equals once");
        drop(silence);
    }
}

#[tokio::test]
async fn a_release_that_somebody_else_is_at_is_left_alone() {
    let dock = Dock::open(BOTH[1]).await;
    dock.install(&chart("1.0.0").build().unwrap()).await;
    let secrets = dock.of("", "v1", "Secret", Some("sea"));
    let mut record = secrets.get("sh.helm.release.v1.fleet.v1").await.unwrap();
    let labels = record.metadata.labels.as_mut().unwrap();
    labels.insert("status".to_owned(), "pending-upgrade".to_owned());
    secrets.replace("sh.helm.release.v1.fleet.v1", &PostParams::default(), &record).await.unwrap();
    let subject = dock.subject(&chart("1.1.0").build().unwrap());
    let outcome = dock.act(&subject, StepKind::Release, None).await;
    assert!(matches!(&outcome, Outcome::Hiccup { reason } if reason.contains("fleet.v1")), "{outcome:?}");
    assert_eq!(dock.map("config").await.unwrap()["chart"], "1.0.0");
}
