//! Chart repositories: real ones over HTTP and OCI, and servers that mean harm.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::live::{LiveOptions, check_objects};
use slipway_domain::operator::{ChartSource, newest_stable};
use slipway_domain::profile::{Colour, Profile};
use slipway_domain::version::Version;
use slipway_infra::charts::{ChartRepositories, HelmPrograms, Limits};
use slipway_orchestrator::ports::Charts as _;
use slipway_orchestrator::ports::charts::{
    Archive, ChartsError, Credentials, Freshness, Rendering, RepositoryAccess,
};
use slipway_testkit::Program;
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository, OciRegistry};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn charts() -> ChartRepositories {
    with_limits(Limits { request: Duration::from_secs(20), ..Limits::default() })
}

fn with_limits(limits: Limits) -> ChartRepositories {
    slipway_testkit::init();
    let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
    ChartRepositories::with_limits(HelmPrograms { guardian, helm: None }, limits)
}

fn source(repository: &str, chart: &str) -> ChartSource {
    ChartSource { repository: repository.parse().unwrap(), chart: chart.parse().unwrap() }
}

fn greeter(version: &str) -> Chart {
    ChartBuilder::new("greeter", version).app_version("7.1").build().unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn anyone() -> RepositoryAccess {
    RepositoryAccess::default()
}

fn reader(password: &str, authority: Option<&str>) -> RepositoryAccess {
    let credentials = Credentials::Basic { username: "reader".to_owned(), password: password.to_owned() };
    RepositoryAccess { credentials, authority: authority.map(str::to_owned) }
}

/// Answers every request with what a function says of its path and its headers.
async fn server(answer: impl Fn(&str, &str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut part = [0; 4096];
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut part).await {
                        Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                        _ => return,
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let _ = stream.write_all(&answer(&path, &request.to_lowercase())).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    url
}

fn ok(body: &[u8], headers: &str) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

fn index(url: &str, digest: &str) -> Vec<u8> {
    json!({"apiVersion": "v1", "entries": {"greeter": [
        {"version": "1.0.0", "digest": digest, "urls": [url]}
    ]}})
    .to_string()
    .into_bytes()
}

#[tokio::test]
async fn versions_over_http_come_in_semantic_order_with_their_facts() {
    let repository = ChartRepository::start().await.unwrap();
    for version in ["1.9.0", "1.10.0", "1.11.0-rc.1"] {
        repository.add(&greeter(version));
    }
    let chart = ChartBuilder::new("greeter", "1.8.0").metadata("deprecated", json!(true));
    let chart = chart.metadata("sources", json!(["https://example.com/greeter"])).build().unwrap();
    repository.add(&chart);
    repository.add(&ChartBuilder::new("other", "9.0.0").build().unwrap());
    let source = source(&repository.url(), "greeter");
    let found = charts().versions(&source, &anyone(), Freshness::Now).await.unwrap();
    let order: Vec<&str> = found.iter().map(|found| found.version.as_str()).collect();
    assert_eq!(order, ["1.11.0-rc.1", "1.10.0", "1.9.0", "1.8.0"]);
    assert_eq!(newest_stable(&found).unwrap().version.as_str(), "1.10.0");
    assert_eq!(found[1].released_at.unwrap().to_string(), "2024-01-01T00:00:00Z");
    assert_eq!(found[1].app_version.as_deref(), Some("7.1"));
    assert_eq!(found[1].digest.as_deref(), Some(&*format!("sha256:{}", greeter("1.10.0").digest())));
    assert!(found[3].deprecated);
    assert_eq!(found[3].changelog_url.as_deref(), Some("https://example.com/greeter"));
}

#[tokio::test]
async fn versions_of_a_registry_are_its_tags_with_what_the_charts_say() {
    let registry = OciRegistry::start().await.unwrap();
    for version in ["1.9.0", "1.10.0", "2.0.0-beta.1", "1.10.0+build.5"] {
        registry.push(&greeter(version)).await.unwrap();
    }
    let charts = charts();
    let source = source(&registry.url(), "greeter");
    let found = charts.versions(&source, &anyone(), Freshness::Now).await.unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(found[0].version.as_str(), "2.0.0-beta.1");
    assert_eq!(found[3].version.as_str(), "1.9.0");
    assert_eq!(found[3].app_version.as_deref(), Some("7.1"));
    for version in ["1.9.0", "1.10.0+build.5"] {
        let archive = charts.pull(&source, &anyone(), &version.parse().unwrap()).await.unwrap();
        assert_eq!(archive.bytes, greeter(version).archive());
        assert_eq!(archive.digest, format!("sha256:{}", greeter(version).digest()));
    }
    let error = charts.pull(&source, &anyone(), &version("3.0.0")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "greeter has no version 3.0.0; the newest are 2.0.0-beta.1, 1.10.0+build.5, 1.10.0"
    );
    let missing = ChartSource { chart: "greting".parse().unwrap(), ..source };
    let error = charts.versions(&missing, &anyone(), Freshness::Now).await.unwrap_err();
    assert!(matches!(error, ChartsError::NoChart { .. }), "{error}");
}

#[tokio::test]
async fn a_chart_that_is_not_there_brings_the_names_that_are_close() {
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let host = repository.url().replace("http://", "");
    let error =
        charts().versions(&source(&repository.url(), "greetr"), &anyone(), Freshness::Now).await.unwrap_err();
    assert_eq!(error.to_string(), format!("the repository at {host} has no chart greetr; it has greeter"));
    let source = source(&repository.url(), "greeter");
    let error = charts().pull(&source, &anyone(), &version("2.0.0")).await.unwrap_err();
    assert_eq!(error.to_string(), "greeter has no version 2.0.0; the newest are 1.0.0");
}

#[tokio::test]
async fn a_repository_that_asks_gets_credentials_over_its_own_authority() {
    let repository = ChartRepository::builder().login("reader", "right").tls().start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let registry = OciRegistry::builder().login("reader", "right").tls().start().await.unwrap();
    registry.push(&greeter("1.0.0")).await.unwrap();
    let places =
        [(repository.url(), repository.ca_pem().unwrap()), (registry.url(), registry.ca_pem().unwrap())];
    for (url, authority) in places {
        let source = source(&url, "greeter");
        let charts = charts();
        let unknown = charts.versions(&source, &reader("right", None), Freshness::Now).await.unwrap_err();
        assert!(unknown.to_string().contains("authority that is not known here"), "{unknown}");
        let nobody = RepositoryAccess { authority: Some(authority.to_owned()), ..anyone() };
        let error = charts.versions(&source, &nobody, Freshness::Now).await.unwrap_err();
        assert!(
            matches!(&error, ChartsError::Refused { reason, .. } if reason.contains("wants credentials")),
            "{error}"
        );
        let error =
            charts.versions(&source, &reader("wrong", Some(authority)), Freshness::Now).await.unwrap_err();
        assert!(
            matches!(&error, ChartsError::Refused { reason, .. } if reason.contains("does not accept")),
            "{error}"
        );
        assert!(!error.to_string().contains("wrong"));
        let right = reader("right", Some(authority));
        assert_eq!(charts.versions(&source, &right, Freshness::Now).await.unwrap().len(), 1);
        let archive = charts.pull(&source, &right, &version("1.0.0")).await.unwrap();
        assert_eq!(archive.bytes, greeter("1.0.0").archive());
        // What was read with credentials is not given to whoever has none.
        assert!(charts.versions(&source, &nobody, Freshness::Cached).await.is_err());
    }
}

#[tokio::test]
async fn an_archive_with_another_digest_or_content_is_not_used() {
    let chart = greeter("1.0.0");
    let bytes = chart.archive().to_vec();
    for (digest, expected) in [("0".repeat(64), "digest"), (chart.digest().to_owned(), "fine")] {
        let bytes = bytes.clone();
        let url = server(move |path, _| match path {
            "/index.yaml" => ok(&index("greeter-1.0.0.tgz", &digest), ""),
            _ => ok(&bytes, ""),
        })
        .await;
        let pulled = charts().pull(&source(&url, "greeter"), &anyone(), &version("1.0.0")).await;
        match expected {
            "digest" => assert!(matches!(pulled, Err(ChartsError::Digest { .. })), "{pulled:?}"),
            _ => assert_eq!(pulled.unwrap().bytes, chart.archive()),
        }
    }
    // The right digest of the wrong thing.
    let other = ChartBuilder::new("other", "1.0.0").build().unwrap();
    let bytes = other.archive().to_vec();
    let digest = other.digest().to_owned();
    let url = server(move |path, _| match path {
        "/index.yaml" => ok(&index("greeter-1.0.0.tgz", &digest), ""),
        _ => ok(&bytes, ""),
    })
    .await;
    let error = charts().pull(&source(&url, "greeter"), &anyone(), &version("1.0.0")).await.unwrap_err();
    assert_eq!(error.to_string(), "the archive of greeter 1.0.0 is refused: it holds other 1.0.0");
}

#[tokio::test]
async fn a_request_is_led_to_the_same_host_only_or_to_an_encrypted_one() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let thief = server(move |_, request| {
        noted.lock().unwrap().push(request.to_owned());
        ok(&index("x.tgz", &"0".repeat(64)), "")
    })
    .await;
    let elsewhere = format!("{thief}/index.yaml");
    let url = server(move |path, request| {
        assert!(request.contains("authorization: basic "), "the repository itself is told who asks");
        match path {
            "/away/index.yaml" => moved(&elsewhere),
            "/round/index.yaml" => moved("/round/index.yaml"),
            "/near/index.yaml" => moved("/index.yaml"),
            _ => ok(&index(&elsewhere, &"0".repeat(64)), ""),
        }
    })
    .await;
    let access = reader("right", None);
    let ask = async |below: &str| {
        charts().versions(&source(&format!("{url}{below}"), "greeter"), &access, Freshness::Now).await
    };
    assert_eq!(ask("/near").await.unwrap().len(), 1);
    let error = ask("/away").await.unwrap_err();
    assert!(error.to_string().contains("neither itself nor encrypted"), "{error}");
    assert!(ask("/round").await.unwrap_err().to_string().contains("more than 5 times"));
    // An index may name archives elsewhere; without encryption they are not fetched.
    let error = charts().pull(&source(&url, "greeter"), &access, &version("1.0.0")).await.unwrap_err();
    assert!(error.to_string().contains("neither the repository nor encrypted"), "{error}");
    assert!(seen.lock().unwrap().is_empty(), "nobody else was asked");
}

#[tokio::test]
async fn a_careless_index_with_a_version_twice_has_it_once() {
    let entry = json!({"version": "1.0.0", "urls": ["x.tgz"]});
    let index = json!({"apiVersion": "v1", "entries": {"greeter": [entry, entry]}}).to_string();
    let url = server(move |_, _| ok(index.as_bytes(), "")).await;
    let found = charts().versions(&source(&url, "greeter"), &anyone(), Freshness::Now).await.unwrap();
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn an_index_is_read_again_only_when_it_changed() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let url = server(move |_, request| {
        let unchanged = request.contains("if-none-match: \"one\"");
        noted.lock().unwrap().push(unchanged);
        if unchanged {
            return b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec();
        }
        ok(&index("x.tgz", &"0".repeat(64)), "ETag: \"one\"\r\n")
    })
    .await;
    let charts = charts();
    let source = source(&url, "greeter");
    for freshness in [Freshness::Now, Freshness::Cached, Freshness::Now] {
        assert_eq!(charts.versions(&source, &anyone(), freshness).await.unwrap().len(), 1);
    }
    assert_eq!(*asked.lock().unwrap(), [false, true]);
}

#[tokio::test]
async fn a_repository_that_is_slow_huge_or_none_at_all_is_named_with_the_reason() {
    let ask = async |charts: ChartRepositories, url: &str| {
        charts.versions(&source(url, "greeter"), &anyone(), Freshness::Now).await.unwrap_err().to_string()
    };
    let huge = server(|_, _| ok(&vec![b' '; 3 << 20], "")).await;
    let limits = Limits { index: 1 << 20, request: Duration::from_secs(5), ..Limits::default() };
    assert!(ask(with_limits(limits), &huge).await.contains("larger than 1 MB"));
    // Without saying how much it will be.
    let endless = server(|_, _| {
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec(), vec![b' '; 3 << 20]].concat()
    })
    .await;
    assert!(ask(with_limits(limits), &endless).await.contains("larger than 1 MB"));
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let limits = Limits { request: Duration::from_secs(1), ..Limits::default() };
    assert!(ask(with_limits(limits), &address).await.contains("did not answer within 1 seconds"));
    let port = slipway_testkit::free_port();
    let nobody = ask(charts(), &format!("http://127.0.0.1:{port}")).await;
    assert!(
        nobody.contains(&format!("127.0.0.1:{port}")) && nobody.to_lowercase().contains("refused"),
        "{nobody}"
    );
    let page = server(|_, _| ok(b"<html><body>hello</body></html>", "")).await;
    assert!(ask(charts(), &page).await.contains("its index cannot be read"));
    let broken = ChartRepository::start().await.unwrap();
    broken.break_with(503).unwrap();
    assert!(ask(charts(), &broken.url()).await.contains("it answers 503 Service Unavailable"));
}

fn definition(plural: &str) -> String {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
    .to_string()
}

fn archive(chart: &Chart) -> Archive {
    Archive { digest: format!("sha256:{}", chart.digest()), bytes: chart.archive().to_vec() }
}

fn names(crds: &[Value]) -> Vec<&str> {
    crds.iter().map(|crd| crd.pointer("/metadata/name").and_then(Value::as_str).unwrap()).collect()
}

#[tokio::test]
async fn definitions_are_found_in_crds_in_parts_and_among_templates() {
    let chart = ChartBuilder::new("greeter", "1.0.0")
        .values("crds: false\n")
        .crd("a.yaml", &definition("alphas"))
        .file("charts/part/Chart.yaml", "apiVersion: v2\nname: part\nversion: 1.0.0\n")
        .file("charts/part/crds/b.yaml", &definition("betas"))
        .template(
            "c.yaml",
            &format!("{{{{- if .Values.crds }}}}\n{}\n{{{{- end }}}}\n", definition("gammas")),
        )
        .template("d.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
        .build()
        .unwrap();
    let charts = charts();
    let open = async |values: Value| {
        let values = values.as_object().cloned().unwrap();
        let rendering = Rendering { release: "greeter", namespace: "greeter", values: &values };
        charts.open(&archive(&chart), rendering).await.unwrap()
    };
    let contents = open(json!({})).await;
    assert_eq!((contents.name.as_str(), contents.version.as_str()), ("greeter", "1.0.0"));
    assert_eq!(names(&contents.crds), ["alphas.example.com", "betas.example.com"]);
    let contents = open(json!({"crds": true})).await;
    assert_eq!(names(&contents.crds), ["alphas.example.com", "betas.example.com", "gammas.example.com"]);
    assert_eq!(contents.not_rendered, None);
}

#[tokio::test]
async fn a_chart_that_cannot_be_rendered_still_tells_its_definitions_and_why() {
    let chart = ChartBuilder::new("greeter", "1.0.0")
        .crd("a.yaml", &definition("alphas"))
        .template("x.yaml", "{{ required \"a domain is needed\" .Values.domain }}")
        .template("b.yaml", &definition("betas"))
        .build()
        .unwrap();
    let values = Map::new();
    let rendering = Rendering { release: "greeter", namespace: "greeter", values: &values };
    let contents = charts().open(&archive(&chart), rendering).await.unwrap();
    assert_eq!(names(&contents.crds), ["alphas.example.com"]);
    assert!(contents.not_rendered.unwrap().contains("a domain is needed"));
}

#[tokio::test]
async fn helm_is_not_asked_for_what_it_cannot_tell() {
    let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
    let programs = HelmPrograms { guardian, helm: Some("/nowhere/helm".into()) };
    let charts = ChartRepositories::new(programs);
    let builder = ChartBuilder::new("greeter", "1.0.0")
        .crd("a.yaml", &definition("alphas"))
        .template("x.yaml", "{{ toYaml .Values.extra }}");
    let open = async |builder: ChartBuilder, values: Value| {
        let values = values.as_object().cloned().unwrap();
        let rendering = Rendering { release: "greeter", namespace: "greeter", values: &values };
        charts.open(&archive(&builder.build().unwrap()), rendering).await
    };
    let contents = open(builder.clone(), json!({"extra": {"kind": "ConfigMap"}})).await.unwrap();
    assert_eq!((names(&contents.crds), contents.not_rendered), (vec!["alphas.example.com"], None));
    for (builder, values) in [
        (builder.clone(), json!({"extra": {"kind": "CustomResourceDefinition"}})),
        (builder.template("b.yaml", &definition("betas")), json!({})),
    ] {
        let failed = open(builder, values).await.unwrap_err();
        assert!(matches!(failed, ChartsError::Unable { .. }), "{failed}");
    }
}

#[tokio::test]
async fn both_lines_of_helm_render_charts() {
    let chart =
        ChartBuilder::new("greeter", "1.0.0").template("c.yaml", &definition("gammas")).build().unwrap();
    let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
    for program in [Program::Helm3, Program::Helm4] {
        let programs = HelmPrograms { guardian: guardian.clone(), helm: Some(program.find().unwrap()) };
        let values = Map::new();
        let rendering = Rendering { release: "greeter", namespace: "greeter", values: &values };
        let contents = ChartRepositories::new(programs).open(&archive(&chart), rendering).await.unwrap();
        assert_eq!(names(&contents.crds), ["gammas.example.com"]);
    }
}

/// The chart of this repository, packed as it is.
fn application_operator() -> Chart {
    fn add(builder: ChartBuilder, root: &std::path::Path, directory: &std::path::Path) -> ChartBuilder {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.fold(builder, |builder, path| {
            if path.is_dir() {
                return add(builder, root, &path);
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            builder.file(name, &std::fs::read_to_string(&path).unwrap())
        })
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/application-operator");
    add(ChartBuilder::new("application-operator", "0.1.0"), &root, &root).build().unwrap()
}

#[tokio::test]
async fn the_built_in_profile_of_our_operator_fits_its_chart() {
    let chart = application_operator();
    let profile = Profile::built_in("application-operator").unwrap();
    let open = async |values: Map<String, Value>| {
        let rendering = Rendering { release: "apps", namespace: "apps", values: &values };
        charts().open(&archive(&chart), rendering).await.unwrap()
    };
    let contents = open(Map::new()).await;
    assert_eq!(contents.not_rendered, None);
    assert_eq!(names(&contents.crds), ["applications.cloudnative.elide.dev"]);
    // The release beside another brings the definition, too: it takes it over with the switch.
    let beside = open(profile.values_of(Colour::Green)).await;
    assert_eq!(beside.not_rendered, None);
    assert_eq!(names(&beside.crds), ["applications.cloudnative.elide.dev"]);
    // What the profile shows to the operator is what the definition takes.
    let definition = Crd::from_value(contents.crds[0].clone()).unwrap();
    for sample in [profile.webhook_sample.unwrap(), profile.smoke_test.unwrap().object] {
        let judged = check_objects(&definition, [&Value::Object(sample)], &LiveOptions::default());
        assert_eq!(judged.fine, 1, "{judged:?}");
    }
}
