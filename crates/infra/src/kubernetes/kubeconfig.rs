//! Kubeconfigs that somebody sends: read strictly, used in part, kept never.
//!
//! Only what is embedded is accepted. A kubeconfig can name programs to run, files to read and proxies to
//! go through; on a server all of these would be those of whoever sent it. Everything that is wrong is said
//! at once, with what to do instead.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Map, Value};
use slipway_domain::problem::Problems;
use slipway_manifests::Limits;
use slipway_orchestrator::clusters::access::{ClusterAccess, Credential, Secret};
use slipway_orchestrator::ports::clusters::GivenAccess;
use zeroize::Zeroizing;

use super::address::AddressRules;

/// The largest kubeconfig that is read.
pub const LARGEST: usize = 1024 * 1024;

/// The longest token.
const TOKEN: usize = 64 * 1024;

/// Far above what a kubeconfig of many contexts needs, far below what hurts.
const LIMITS: Limits = Limits { bytes: LARGEST, document_bytes: LARGEST, depth: 16, values: 20_000 };

const INSTEAD: &str = "let the command line make a credential instead: slipway cluster add";

/// Reads what was given to reach a cluster with.
pub fn read(given: &GivenAccess, rules: &AddressRules) -> Result<ClusterAccess, Problems> {
    match given {
        GivenAccess::Kubeconfig(encoded) => {
            let text = decode(encoded)?;
            parse(&text, rules)
        }
        GivenAccess::Parts { server, authority, server_name, token } => {
            let mut problems = Problems::new();
            let server = problems.take("apiServerUrl", rules.server(server));
            let authority = authority.as_ref().and_then(|data| problems.take("caData", authorities(data)));
            let server_name =
                server_name.as_ref().and_then(|name| problems.take("tlsServerName", host(name)));
            let credential = problems.take("token", bearer(token.expose()));
            match (problems.is_empty(), server, credential) {
                (true, Some(server), Some(credential)) => {
                    Ok(ClusterAccess { server, server_name, authority, proxy: None, credential })
                }
                _ => Err(problems),
            }
        }
    }
}

fn decode(encoded: &Secret) -> Result<Zeroizing<String>, Problems> {
    let wrong = |message: &str| Problems::one("kubeconfig", message);
    // Four characters for three bytes; line ends are common.
    if encoded.expose().len() > LARGEST / 3 * 4 + LARGEST / 16 {
        return Err(wrong("is larger than 1 MiB"));
    }
    let bare: Zeroizing<String> = encoded
        .expose()
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .collect::<String>()
        .into();
    let bytes = STANDARD
        .decode(bare.as_bytes())
        .map_err(|_| wrong("is not base64; encode the file with: base64 -w0 kubeconfig"))?;
    match String::from_utf8(bytes) {
        Ok(text) if text.len() > LARGEST => Err(wrong("is larger than 1 MiB")),
        Ok(text) => Ok(text.into()),
        Err(_) => Err(wrong("is not text")),
    }
}

/// Reads a kubeconfig.
pub fn parse(text: &str, rules: &AddressRules) -> Result<ClusterAccess, Problems> {
    let wrong = |message: String| Problems::one("kubeconfig", message);
    // The reason is not passed on: it may quote the line, and the line may hold a token.
    let documents = slipway_manifests::read_with(text, &LIMITS)
        .map_err(|error| wrong(format!("is not YAML that can be read (line {})", error.line)))?;
    let [document] = &documents[..] else {
        return Err(wrong("has to be one document".to_owned()));
    };
    let root = document.value.as_object().ok_or_else(|| wrong("is not a kubeconfig".to_owned()))?;
    if root.get("kind").is_some_and(|kind| kind != "Config") || !root.contains_key("clusters") {
        return Err(wrong("is not a kubeconfig: it has no kind Config with clusters".to_owned()));
    }
    let context = context(root).map_err(wrong)?;
    let mut problems = Problems::new();
    let cluster = part(root, "clusters", "cluster", context, &mut problems);
    let user = part(root, "users", "user", context, &mut problems);
    let (Some(cluster), Some(user)) = (cluster, user) else { return Err(problems) };
    let reached = of_cluster(cluster, rules, &mut problems);
    let credential = of_user(user, &mut problems);
    match (problems.is_empty(), reached, credential) {
        (true, Some(reached), Some(credential)) => Ok(ClusterAccess {
            server: reached.server,
            server_name: reached.server_name,
            authority: reached.authority,
            proxy: reached.proxy,
            credential,
        }),
        _ => Err(problems),
    }
}

type Object = Map<String, Value>;

/// The context that is meant: the current one, or the only one.
fn context(root: &Object) -> Result<&Object, String> {
    let contexts = named(root, "contexts");
    let current = root.get("current-context").and_then(Value::as_str).filter(|name| !name.is_empty());
    let found = match (current, &contexts[..]) {
        (Some(current), _) => contexts.iter().find(|(name, _)| *name == current).map(|(_, entry)| *entry),
        (None, [(_, only)]) => Some(*only),
        (None, []) => return Err("has no context".to_owned()),
        (None, _) => {
            return Err(format!(
                "has {} contexts and no current-context; choose one: kubectl config use-context NAME",
                contexts.len()
            ));
        }
    };
    found
        .and_then(|entry| entry.get("context")?.as_object())
        .ok_or_else(|| "has no context with the name of current-context".to_owned())
}

fn named<'a>(root: &'a Object, list: &str) -> Vec<(&'a str, &'a Object)> {
    let entries = root.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let entry = |value: &'a Value| Some((value.get("name")?.as_str()?, value.as_object()?));
    entries.iter().filter_map(entry).collect()
}

/// The cluster or the user that a context names.
fn part<'a>(
    root: &'a Object,
    list: &str,
    kind: &str,
    context: &Object,
    problems: &mut Problems,
) -> Option<&'a Object> {
    let wanted = context.get(kind).and_then(Value::as_str);
    let found = named(root, list).into_iter().find(|(name, _)| Some(*name) == wanted);
    let found = found.and_then(|(_, entry)| entry.get(kind)?.as_object());
    if found.is_none() {
        problems.add("kubeconfig", format!("has no {kind} that its context names"));
    }
    found
}

struct Reached {
    server: String,
    server_name: Option<String>,
    authority: Option<String>,
    proxy: Option<String>,
}

fn of_cluster(cluster: &Object, rules: &AddressRules, problems: &mut Problems) -> Option<Reached> {
    let place = |key: &str| format!("kubeconfig.cluster.{key}");
    let mut reached = Reached { server: String::new(), server_name: None, authority: None, proxy: None };
    let mut server = None;
    for (key, value) in cluster {
        let text = value.as_str();
        let path = place(key);
        match key.as_str() {
            _ if is_empty(value) => {}
            "server" => server = problems.take(&path, rules.server(text.unwrap_or_default())),
            "certificate-authority-data" => {
                reached.authority = problems.take(&path, authorities(text.unwrap_or_default()));
            }
            "tls-server-name" => reached.server_name = problems.take(&path, host(text.unwrap_or_default())),
            "proxy-url" => reached.proxy = problems.take(&path, rules.proxy(text.unwrap_or_default())),
            "insecure-skip-tls-verify" => problems.add(
                path,
                "is refused: whoever is on the way could take the credential; \
                 give the authority instead: certificate-authority-data",
            ),
            "certificate-authority" => problems.add(
                path,
                "names a file, which is not on this server; embed it: kubectl config view --flatten",
            ),
            "disable-compression" | "extensions" => {}
            _ => problems.add(unknown(&path), "is not known, so it is refused; remove it"),
        }
    }
    if !cluster.contains_key("server") {
        problems.add(place("server"), "is missing");
    }
    reached.server = server?;
    Some(reached)
}

fn of_user(user: &Object, problems: &mut Problems) -> Option<Credential> {
    let place = |key: &str| format!("kubeconfig.user.{key}");
    let (mut token, mut certificate, mut key) = (None, None, None);
    for (field, value) in user {
        let path = place(field);
        let text = value.as_str().unwrap_or_default();
        match field.as_str() {
            _ if is_empty(value) => {}
            "token" => token = problems.take(&path, bearer(text)),
            "client-certificate-data" => certificate = problems.take(&path, certificates(text)),
            "client-key-data" => key = problems.take(&path, private_key(text)),
            "exec" => problems
                .add(path, format!("names a program, which a server does not run for others; {INSTEAD}")),
            "auth-provider" => {
                problems.add(path, format!("needs a plugin, which this server does not have; {INSTEAD}"));
            }
            "tokenFile" | "client-certificate" | "client-key" => problems.add(
                path,
                "names a file, which is not on this server; embed it: kubectl config view --flatten --raw",
            ),
            "username" | "password" => {
                problems.add(path, format!("is refused: Kubernetes has no passwords any more; {INSTEAD}"));
            }
            "as" | "as-uid" | "as-groups" | "as-user-extra" => problems.add(
                path,
                format!("is refused: the audit of the cluster would not show who it is; {INSTEAD}"),
            ),
            "extensions" => {}
            _ => problems.add(unknown(&path), format!("is not known, so it is refused; {INSTEAD}")),
        }
    }
    let has = |field: &str| user.get(field).is_some_and(|value| !is_empty(value));
    if has("token") && (has("client-certificate-data") || has("client-key-data")) {
        problems.add("kubeconfig.user", "has a token and a client certificate; leave one of them");
    } else if has("client-certificate-data") != has("client-key-data") {
        problems.add("kubeconfig.user", "needs both client-certificate-data and client-key-data");
    } else if problems.is_empty() && token.is_none() && certificate.is_none() {
        problems.add("kubeconfig.user", format!("holds no credential; {INSTEAD}"));
    }
    match (token, certificate, key) {
        (Some(token), None, None) => Some(token),
        (None, Some(certificate), Some(key)) => Some(Credential::Certificate { certificate, key }),
        _ => None,
    }
}

/// What programs write for "nothing".
fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value.as_str().is_some_and(str::is_empty)
}

/// The place of a field with a name of somebody's own making.
fn unknown(path: &str) -> String {
    path.chars().filter(|character| !character.is_control()).take(100).collect()
}

fn bearer(token: &str) -> Result<Credential, &'static str> {
    if token.is_empty() {
        Err("is missing")
    } else if token.len() > TOKEN {
        Err("is longer than 64 KiB")
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err("is not a token: it holds spaces or other characters that cannot be sent")
    } else {
        Ok(Credential::Token(token.to_owned().into()))
    }
}

fn host(name: &str) -> Result<String, &'static str> {
    ServerName::try_from(name).map(|_| name.to_owned()).map_err(|_| "is not the name of a host")
}

fn pem(data: &str) -> Result<Zeroizing<String>, &'static str> {
    let bytes = STANDARD.decode(data.trim()).map_err(|_| "is not base64")?;
    String::from_utf8(bytes).map(Zeroizing::new).map_err(|_| "is not PEM in base64")
}

fn certificates(data: &str) -> Result<String, &'static str> {
    let text = pem(data)?;
    let found = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    if found.map_err(|_| "is not PEM in base64")?.is_empty() {
        return Err("holds no certificate");
    }
    Ok((*text).clone())
}

fn authorities(data: &str) -> Result<String, &'static str> {
    let text = certificates(data)?;
    let mut store = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()).flatten() {
        store.add(certificate).map_err(|_| "holds something that is not the certificate of an authority")?;
    }
    Ok(text)
}

fn private_key(data: &str) -> Result<Secret, &'static str> {
    let text = pem(data)?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| "is not a private key in PEM")?;
    Ok((*text).clone().into())
}
