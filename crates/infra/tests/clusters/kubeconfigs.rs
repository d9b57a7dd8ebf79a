//! Kubeconfigs that are refused, each with what to do instead; nothing is contacted and nothing kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_infra::kubernetes::AddressRules;
use slipway_infra::kubernetes::kubeconfig::read;
use slipway_orchestrator::Code;
use slipway_orchestrator::clusters::access::Credential;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::store::{ClusterFilter, ClusterRows as _};
use slipway_testkit::certificates::Authority;

use crate::server::{Server, admin, registration, uploaded};
use crate::support::database;

const SECRET: &str = "sesame-open";

/// A kubeconfig of one cluster, with these fields beside its address.
fn kubeconfig(cluster: &Value, user: &Value) -> Value {
    let mut whole = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.9.8.7:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    });
    for (key, value) in cluster.as_object().unwrap() {
        whole["clusters"][0]["cluster"][key] = value.clone();
    }
    whole
}

fn with_user(user: &Value) -> String {
    kubeconfig(&json!({}), user).to_string()
}

fn with_cluster(cluster: &Value) -> String {
    kubeconfig(cluster, &json!({"token": SECRET})).to_string()
}

/// Every kind of kubeconfig that is refused, with words that the refusal has to hold.
#[expect(clippy::too_many_lines, reason = "a list")]
fn refused() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let token = json!({"token": SECRET});
    let mut several = kubeconfig(&json!({}), &token);
    several["current-context"] = Value::Null;
    let there = json!({"name": "there", "context": {"cluster": "c", "user": "u"}});
    several["contexts"].as_array_mut().unwrap().push(there);
    let mut astray = kubeconfig(&json!({}), &token);
    astray["current-context"] = "nowhere".into();
    let mut nobody = kubeconfig(&json!({}), &token);
    nobody["users"] = json!([]);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nclusters: []\n";
    let exec = json!({"exec": {"apiVersion": "v1", "command": "/bin/sh", "args": ["-c", SECRET]}});
    vec![
        ("exec", with_user(&exec), vec!["user.exec", "slipway cluster add"]),
        (
            "exec beside a token",
            with_user(&json!({"token": SECRET, "exec": {"command": "sh"}})),
            vec!["user.exec"],
        ),
        (
            "auth-provider",
            with_user(&json!({"auth-provider": {"name": "gcp"}})),
            vec!["user.auth-provider", "slipway cluster add"],
        ),
        ("tokenFile", with_user(&json!({"tokenFile": "/etc/shadow"})), vec!["user.tokenFile", "--flatten"]),
        (
            "certificate path",
            with_user(&json!({"client-certificate": "/a.crt", "client-key": "/a.key"})),
            vec!["user.client-certificate", "user.client-key", "--flatten"],
        ),
        (
            "authority path",
            with_cluster(&json!({"certificate-authority": "/etc/ca.crt"})),
            vec!["cluster.certificate-authority", "--flatten"],
        ),
        (
            "proxy",
            with_cluster(&json!({"proxy-url": "http://10.1.1.1:3128"})),
            vec!["cluster.proxy-url", "clusters.proxies"],
        ),
        (
            "no verification",
            with_cluster(&json!({"insecure-skip-tls-verify": true})),
            vec!["cluster.insecure-skip-tls-verify", "certificate-authority-data"],
        ),
        ("no TLS", with_cluster(&json!({"server": "http://10.9.8.7"})), vec!["cluster.server", "https://"]),
        (
            "password",
            with_user(&json!({"username": "ada", "password": SECRET})),
            vec!["user.username", "user.password"],
        ),
        ("impersonation", with_user(&json!({"token": SECRET, "as": "root"})), vec!["user.as"]),
        (
            "groups",
            with_user(&json!({"token": SECRET, "as-groups": ["system:masters"]})),
            vec!["user.as-groups"],
        ),
        (
            "unknown field",
            with_user(&json!({"token": SECRET, "wizard": "x"})),
            vec!["user.wizard", "not known"],
        ),
        (
            "unknown cluster field",
            with_cluster(&json!({"gateway": "x"})),
            vec!["cluster.gateway", "not known"],
        ),
        ("nothing", with_user(&json!({})), vec!["holds no credential"]),
        ("half a certificate", with_user(&json!({"client-key-data": "eA=="})), vec!["user"]),
        (
            "both kinds",
            with_user(
                &json!({"token": SECRET, "client-certificate-data": "eA==", "client-key-data": "eA=="}),
            ),
            vec!["leave one"],
        ),
        ("token with a line end", with_user(&json!({"token": "a\nb: c"})), vec!["user.token"]),
        (
            "user in the address",
            with_cluster(&json!({"server": format!("https://ada:{SECRET}@10.9.8.7")})),
            vec!["cluster.server", "user or password"],
        ),
        (
            "metadata service",
            with_cluster(&json!({"server": "https://169.254.169.254"})),
            vec!["cluster.server", "link-local"],
        ),
        (
            "loopback",
            with_cluster(&json!({"server": "https://localhost:6443"})),
            vec!["cluster.server", "allowLoopback"],
        ),
        (
            "odd authority",
            with_cluster(&json!({"certificate-authority-data": "eA=="})),
            vec!["authority-data"],
        ),
        ("several contexts", several.to_string(), vec!["2 contexts", "use-context"]),
        ("no such context", astray.to_string(), vec!["current-context"]),
        ("no such user", nobody.to_string(), vec!["has no user"]),
        ("another kind", json!({"kind": "Pod", "clusters": []}).to_string(), vec!["not a kubeconfig"]),
        ("a list", "[1, 2]".to_owned(), vec!["not a kubeconfig"]),
        ("two documents", "a: 1\n---\nb: 2\n".to_owned(), vec!["one document"]),
        ("no YAML", format!("a: [{SECRET}\n b: }}"), vec!["not YAML"]),
        ("alias bomb", bomb.to_owned(), vec!["not YAML"]),
        ("deep", "[".repeat(5000), vec!["not YAML"]),
        ("empty", String::new(), vec!["one document"]),
        ("more than 1 MiB", with_user(&json!({"token": "x".repeat(1 << 20)})), vec!["larger than 1 MiB"]),
        ("5 MB of junk", "\u{1}junk".repeat(1 << 20), vec!["larger than 1 MiB"]),
    ]
}

#[test]
fn each_is_refused_with_its_name_and_the_remedy() {
    let rules = AddressRules::default();
    for (what, text, words) in refused() {
        let error = read(&uploaded(&text), &rules).expect_err(what).to_string();
        for word in words {
            assert!(error.contains(word), "{what}: {word:?} is not in {error:?}");
        }
        assert!(!error.contains(SECRET), "{what}: {error}");
    }
    let error = read(&GivenAccess::Kubeconfig("%%%".to_owned().into()), &rules).unwrap_err().to_string();
    assert!(error.contains("base64"), "{error}");
}

#[test]
fn embedded_credentials_are_accepted() {
    let rules = AddressRules { loopback: false, proxies: vec!["http://10.1.1.1:3128".to_owned()] };
    let authority = Authority::new("here").unwrap();
    let encoded = STANDARD.encode(authority.certificate());
    let cluster = json!({
        "certificate-authority-data": encoded, "tls-server-name": "api.example",
        "proxy-url": "http://10.1.1.1:3128/", "insecure-skip-tls-verify": false,
    });
    let text = kubeconfig(&cluster, &json!({"token": SECRET, "username": ""})).to_string();
    let access = read(&uploaded(&text), &rules).unwrap();
    assert_eq!(access.server, "https://10.9.8.7:6443");
    assert_eq!(access.authority.as_deref(), Some(authority.certificate()));
    assert_eq!(access.server_name.as_deref(), Some("api.example"));
    assert_eq!(access.proxy.as_deref(), Some("http://10.1.1.1:3128/"));
    assert!(matches!(access.credential, Credential::Token(token) if token.expose() == SECRET));
    let pair = authority.client("ada", &[]).unwrap();
    let user = json!({
        "client-certificate-data": STANDARD.encode(&pair.certificate),
        "client-key-data": STANDARD.encode(&pair.key),
    });
    let access = read(&uploaded(&with_user(&user)), &rules).unwrap();
    assert!(
        matches!(access.credential, Credential::Certificate { certificate, .. } if certificate == pair.certificate)
    );
}

#[tokio::test]
async fn what_is_refused_is_a_400_contacts_nobody_and_leaves_nothing() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    // API server and proxy are here, where a connection would be seen.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let directory = slipway_testkit::scratch("kubeconfigs").unwrap();
    let mark = directory.path().join("mark");
    let exec = json!({"exec": {"apiVersion": "v1", "command": "touch", "args": [&mark], "interactiveMode": "Never"}});
    let running = ("exec that leaves a mark", with_user(&exec), Vec::new());
    let all = refused().into_iter().chain([running]).filter(|(what, _, _)| *what != "loopback");
    for (what, text, _) in all {
        let text = text.replace("10.9.8.7:6443", &here).replace("10.1.1.1:3128", &here);
        let wanted = registration("dev-1", uploaded(&text));
        let error = server.manager.register_cluster(&admin(), wanted).await.expect_err(what);
        assert_eq!((error.code, error.code.status()), (Code::InvalidKubeconfig, 400), "{what}: {error}");
    }
    let authority = Authority::new("here").unwrap();
    let (one, two) = (authority.client("ada", &[]).unwrap(), authority.client("bob", &[]).unwrap());
    let user = json!({
        "client-certificate-data": STANDARD.encode(&one.certificate),
        "client-key-data": STANDARD.encode(&two.key),
    });
    let wanted = registration("dev-1", uploaded(&with_user(&user)));
    let error = server.manager.register_cluster(&admin(), wanted).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidKubeconfig);
    assert!(error.to_string().contains("a key that do not belong together"), "{error}");
    let nobody = listener.accept().map(drop).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody is contacted");
    assert!(!mark.exists(), "no program is run");
    let window = Window::new(None, None).unwrap();
    assert_eq!(stored.store.clusters(&ClusterFilter::default(), window).await.unwrap().total, 0);
}
