//! How fast an operator's webhooks answer: asked directly, and through a dry-run create.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kube::Client;
use kube::api::PostParams;
use reqwest::Certificate;
use serde_json::{Value, json};

use super::latency::Percentiles;
use super::load;

/// How often each is asked.
const TIMES: usize = 2000;

/// Asks one webhook again and again on one connection, as the API server does.
pub(super) async fn webhook(url: &str, authority: &str) -> anyhow::Result<Percentiles> {
    let authority = Certificate::from_pem(authority.as_bytes())?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([authority])
        .timeout(Duration::from_secs(10))
        .build()
        .context("making a client for the webhooks")?;
    let review = review()?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let started = Instant::now();
        let answer: Value = client.post(url).json(&review).send().await?.error_for_status()?.json().await?;
        times.push(started.elapsed());
        ensure!(answer["response"]["allowed"] == true, "{url} refused an Application: {answer}");
    }
    Percentiles::of(times).context("nothing was asked")
}

/// Creates without keeping: the API server's own work with both webhooks in it.
pub(super) async fn dry_run(client: &Client) -> anyhow::Result<Percentiles> {
    let api = load::api(client);
    let object = load::application("dry-run", 2)?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let started = Instant::now();
        api.create(&dry_run, &object).await.context("a dry-run create")?;
        times.push(started.elapsed());
    }
    Percentiles::of(times).context("nothing was asked")
}

/// What the API server sends.
fn review() -> anyhow::Result<Value> {
    let resource = json!({"group": "cloudnative.elide.dev", "version": "v1", "resource": "applications"});
    let kind = json!({"group": "cloudnative.elide.dev", "version": "v1", "kind": "Application"});
    Ok(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
            "name": "probe", "namespace": super::cluster::NAMESPACE, "operation": "CREATE",
            "userInfo": {"username": "admin", "groups": ["system:masters"]},
            "object": load::application("probe", 2)?, "oldObject": null, "dryRun": false, "options": null,
        },
    }))
}
