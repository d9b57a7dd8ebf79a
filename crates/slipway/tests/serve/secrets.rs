//! A full run, and then a search for every secret in everything that it left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};
use slipway_testkit::certificates::Authority;
use slipway_testkit::charts::ChartRepository;
use slipway_testkit::smtp::{Encryption, Smtp};
use slipway_testkit::{ControlPlane, kubeconfig, until};

use crate::fleet::{greeter, install};
use crate::person::Person;
use crate::program::{LONG, Served, folder, slipway};

const ADMIN: &str = "nobody-guesses-this-7Q";
const ADA: &str = "nobody-guesses-that-9Z";
const REPOSITORY: &str = "repository-password-4kX";
const SMTP: &str = "smtp-password-8vM";
const WEBHOOK: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ISSUER: &str = "issuer-client-secret-2pT";
const METRICS: &str = "metrics-token-6hJ";
const VALUE: &str = "helm-value-secret-3wB";
const WRONG: &str = "a-password-that-is-wrong-5nC";

/// Every secret with its name.
#[derive(Default)]
struct Secrets(Vec<(String, String)>);

impl Secrets {
    fn add(&mut self, name: &str, secret: impl Into<String>) {
        let secret = secret.into();
        assert!(secret.len() > 8, "{name} is too short to be searched for");
        self.0.push((name.to_owned(), secret));
    }

    /// A token: only its signature is secret, the rest says who it is for.
    fn add_token(&mut self, name: &str, token: &str) {
        self.add(name, token.trim().rsplit('.').next().unwrap());
    }

    /// Each way a secret could be written, that is in the text.
    fn search(&self, place: &str, text: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for (name, secret) in &self.0 {
            let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            // Base64 without what its neighbours decide.
            let encoded = STANDARD.encode(secret);
            let cut = encoded.trim_end_matches('=').len() - 1;
            let url = URL_SAFE_NO_PAD.encode(secret);
            for form in [secret.as_str(), &hexadecimal, &encoded[..cut], &url[..url.len() - 1]] {
                if text.windows(form.len()).any(|part| part == form.as_bytes()) {
                    found.push(format!("{name} is in {place}"));
                    break;
                }
            }
        }
        found
    }
}

/// A program that is told by signed requests, and keeps them.
async fn receiver() -> (String, Arc<Mutex<Vec<u8>>>) {
    let heard = Arc::<Mutex<Vec<u8>>>::default();
    let hear = async |State(heard): State<Arc<Mutex<Vec<u8>>>>, body: Bytes| {
        heard.lock().unwrap().extend_from_slice(&body);
    };
    let router = Router::new().fallback(hear).with_state(Arc::clone(&heard));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, heard)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// A token of a service account that may do everything, as a kubeconfig from elsewhere holds it.
async fn token(plane: &ControlPlane) -> String {
    let accounts = Api::<ServiceAccount>::namespaced(plane.client().await.unwrap(), "kube-system");
    let account = json!({"metadata": {"name": "elsewhere"}});
    accounts.create(&PostParams::default(), &serde_json::from_value(account).unwrap()).await.unwrap();
    let client = plane.client().await.unwrap();
    let bindings = Api::<k8s_openapi::api::rbac::v1::ClusterRoleBinding>::all(client);
    let binding = json!({
        "metadata": {"name": "elsewhere"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "elsewhere", "namespace": "kube-system"}],
    });
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let given = accounts.create_token_request("elsewhere", &PostParams::default(), &request).await.unwrap();
    given.status.unwrap().token.unwrap()
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "it is one story")]
async fn no_secret_is_in_anything_that_a_full_run_leaves() {
    let folder = folder();
    let mut secrets = Secrets::default();
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    install(&plane, &greeter("1.0.0"), "greeter", &[&format!("--set=greeting={VALUE}")]).await;
    let repository = ChartRepository::builder().login("reader", REPOSITORY).start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let smtp = Smtp::builder().encryption(Encryption::StartTls).login("slipway", SMTP).start().await.unwrap();
    let (hook, heard) = receiver().await;
    let authority = Authority::new("tests").unwrap();
    authority.server("localhost", &["127.0.0.1"]).unwrap().write(folder.path(), "server").unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (name, content) in [
        ("smtp", SMTP),
        ("hook", WEBHOOK),
        ("issuer", ISSUER),
        ("metrics", METRICS),
        ("smtp.pem", smtp.ca_pem()),
    ] {
        fs::write(file(name), content).unwrap();
    }
    fs::write(file("ca.pem"), authority.certificate()).unwrap();
    let settings = json!({
        "clusters": {"allowLoopback": true},
        "clusterHealthEvery": "PT2S",
        "operatorHealthEvery": "PT2S",
        "tls": {"certificateFile": file("server.crt"), "keyFile": file("server.key")},
        "log": {"filter": "trace"},
        "metrics": {"tokenFile": file("metrics")},
        "mail": {
            "host": "localhost", "port": smtp.address().port(), "from": "slipway@example.test",
            "user": "slipway", "passwordFile": file("smtp"), "caFile": file("smtp.pem"),
            "alertAddresses": ["duty@example.test"],
        },
        "webhooks": [{"name": "chat", "url": hook, "secretFile": file("hook"), "allowPlainHttp": true}],
        "oidc": [{
            "name": "work", "issuer": "https://127.0.0.1:9", "clientId": "slipway",
            "clientSecretFile": file("issuer"),
        }],
    });
    fs::write(file("slipway.yaml"), settings.to_string()).unwrap();
    let served = Served::start(folder.path(), &[&format!("--config={}", file("slipway.yaml"))]).await;

    for (name, secret) in [
        ("the admin's password", ADMIN),
        ("ada's password", ADA),
        ("the repository's password", REPOSITORY),
        ("the mail server's password", SMTP),
        ("the webhook's secret", &WEBHOOK[6..]),
        ("the issuer's secret", ISSUER),
        ("the metrics' token", METRICS),
        ("a helm value", VALUE),
        ("a wrong password", WRONG),
    ] {
        secrets.add(name, secret);
    }
    secrets.add("the first password", served.first_password());
    let data = folder.path().join("data");
    let key = fs::read_to_string(data.join("keys")).unwrap();
    secrets.add("the key of the keyring", key.trim());
    secrets.add(
        "the password of PostgreSQL",
        fs::read_to_string(data.join("postgres/password")).unwrap().trim(),
    );
    let pem = fs::read_to_string(file("server.key")).unwrap();
    secrets.add("the key of the server's certificate", pem.lines().nth(1).unwrap());
    let own: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
    let own = own.pointer("/users/0/user/client-key-data").and_then(Value::as_str).unwrap();
    secrets.add("the key of the person's kubeconfig", &own[80..160]);

    // Everything that a server does.
    let ca = file("ca.pem");
    let admin = Person::new();
    let login =
        ["login", "--server", &served.url, "--ca-file", &ca, "--username", "admin", "--password-stdin"];
    admin.typing(&format!("{}\n{ADMIN}\n", served.first_password()), &login).await;
    secrets.add_token("the admin's session", &admin.token());
    let ada_first =
        admin.json(&["user", "add", "ada", "--role", "Operator", "--email", "ada@example.test"]).await;
    let ada_first = ada_first.to_string();
    let once =
        ada_first.split('"').find(|word| word.len() == served.first_password().len() && word.contains('-'));
    let once = once.unwrap_or_else(|| panic!("no password in {ada_first}")).to_owned();
    secrets.add("ada's first password", &once);
    let ada = Person::new();
    let login = ["login", "--server", &served.url, "--ca-file", &ca, "--username", "ada", "--password-stdin"];
    ada.typing(&format!("{once}\n{ADA}\n"), &login).await;
    secrets.add_token("ada's session", &ada.token());
    let refused = Person::new();
    refused.fails_typing(3, &format!("{WRONG}\n"), &login).await;
    let machine = admin.runs(&["token", "create", "ci", "--role", "Admin"]).await;
    secrets.add_token("the machine's token", &machine);

    let kubeconfig_file = plane.kubeconfig_file().display().to_string();
    let mut replies = String::new();
    replies.push_str(&admin.runs(&["cluster", "add", "enrolled", "--kubeconfig", &kubeconfig_file]).await);
    let given = token(&plane).await;
    secrets.add_token("the token of a kubeconfig", &given);
    let uploaded: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
    let encoded = uploaded.pointer("/clusters/0/cluster/certificate-authority-data").and_then(Value::as_str);
    let authority_pem = String::from_utf8(STANDARD.decode(encoded.unwrap()).unwrap()).unwrap();
    let uploaded = kubeconfig::with_token(plane.server(), &authority_pem, &given);
    let certificate = reqwest::Certificate::from_pem(authority.certificate().as_bytes()).unwrap();
    let http = reqwest::Client::builder().tls_certs_only([certificate]).timeout(Duration::from_mins(2));
    let http = http.build().unwrap();
    let api = |path: &str| format!("{}/api/v1{path}", served.url);
    let body = json!({
        "name": "uploaded", "environment": "Staging", "allowDuplicate": true,
        "kubeconfig": STANDARD.encode(&uploaded),
    });
    let reply = http.post(api("/clusters")).bearer_auth(machine.trim()).header("idempotency-key", "upload-1");
    let reply = reply.json(&body).send().await.unwrap();
    let (status, text) = (reply.status(), reply.text().await.unwrap());
    assert_eq!(status, 201, "{text}");
    replies.push_str(&text);
    let body = json!({"name": "second", "role": "Viewer"});
    let reply = http.post(api("/tokens")).bearer_auth(admin.token()).header("idempotency-key", "token-1");
    let made: Value = reply.json(&body).send().await.unwrap().json().await.unwrap();
    let made = made["secret"].as_str().unwrap_or_else(|| panic!("no secret in {made}"));
    secrets.add_token("a token made with an idempotency key", made);

    fs::write(file("repository"), REPOSITORY).unwrap();
    let (url, password) = (repository.url(), file("repository"));
    let add = ["operator", "add", "greeter", "--repository", &url, "--repository-username", "reader"];
    replies.push_str(&admin.runs(&[&add[..], &["--repository-password-file", &password]].concat()).await);
    let both = |health: &Value| health["clusters"].as_array().is_some_and(|clusters| clusters.len() == 2);
    admin.json_until(&["operator", "health", "greeter"], both).await;
    admin.runs(&["operator", "adopt", "greeter", "--cluster", "enrolled"]).await;
    admin.runs(&["cluster", "rotate", "enrolled"]).await;
    // Something breaks, and people are told.
    let deployments = Api::<Deployment>::namespaced(plane.client().await.unwrap(), "greeter");
    deployments.delete("greeter", &DeleteParams::default()).await.unwrap();
    smtp.wait_for(|mail| mail.to.iter().any(|to| to == "duty@example.test"), LONG).await.unwrap();
    until("the webhook to be told", LONG, async || (!heard.lock().unwrap().is_empty()).then_some(()))
        .await
        .unwrap();

    // Everything that can be read.
    let document: Value = http.get(api("/openapi.json")).send().await.unwrap().json().await.unwrap();
    let mut read = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(path) = methods.get("get").and_then(|_| known(path)) else { continue };
        let reply = http.get(format!("{}{path}", served.url)).bearer_auth(admin.token());
        let reply = reply.send().await.unwrap();
        assert_eq!(reply.status(), 200, "{path}");
        replies.push_str(&reply.text().await.unwrap());
        read += 1;
    }
    assert!(read > 20, "{read} endpoints were read");
    let metrics = http.get(format!("{}/metrics", served.url)).bearer_auth(METRICS).send().await.unwrap();
    assert_eq!(metrics.status(), 200);
    replies.push_str(&metrics.text().await.unwrap());
    replies.push_str(&admin.runs(&["audit", "export"]).await);
    replies.push_str(&admin.runs(&["export"]).await);
    let backup = file("backup");
    let saved = slipway(&["db", "backup", "--data-dir"]).arg(&data).arg(&backup).output().unwrap();
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let programs = slipway_testkit::postgres_directory().unwrap();
    let mut restore = tokio::process::Command::new(programs.join("pg_restore"));
    let rows = restore.args(["--file=-", &backup]).output().await.unwrap();
    assert!(rows.status.success(), "{}", String::from_utf8_lossy(&rows.stderr));
    let rows = rows.stdout;
    let log = served.log();
    assert_eq!(served.stop().await.code(), Some(0));

    let mails: Vec<u8> = smtp.mails().into_iter().flat_map(|mail| mail.raw).collect();
    assert!(log.contains("\"TRACE\"") && !mails.is_empty(), "there is something to search");
    for word in ["greeter", "enrolled", "cluster.register"] {
        assert!(rows.windows(word.len()).any(|part| part == word.as_bytes()), "{word} is in the rows");
    }
    let mut found = Vec::new();
    for (place, text) in [
        ("the server's log", log.as_bytes()),
        ("the replies", replies.as_bytes()),
        ("the database", &rows),
        ("the mails", &mails),
        ("the webhook's requests", &heard.lock().unwrap()),
    ] {
        found.extend(secrets.search(place, text));
    }
    for path in files(&data.join("postgres/log")) {
        found.extend(secrets.search(&path.display().to_string(), &fs::read(&path).unwrap()));
    }
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(secrets.search("a test", rows_with(&secrets).as_bytes()).len(), secrets.0.len());
}

/// A path with the names of things that are there; streams and what needs a browser are left out.
fn known(path: &str) -> Option<String> {
    let name = match path.split('/').nth(3)? {
        "clusters" => "enrolled",
        "operators" => "greeter",
        "crds" => "greetings.example.com",
        _ => "nothing",
    };
    let path = path.replace("{cluster}", "enrolled").replace("{operator}", "greeter");
    let path = path.replace("{username}", "ada").replace("{name}", name);
    let left_out = path.contains('{') || path.ends_with("/events") || path.contains("/nothing");
    (!left_out).then_some(path)
}

/// All of them, to see that the search finds what is there.
fn rows_with(secrets: &Secrets) -> String {
    secrets.0.iter().map(|(_, secret)| STANDARD.encode(secret)).collect::<Vec<_>>().join("\n")
}
