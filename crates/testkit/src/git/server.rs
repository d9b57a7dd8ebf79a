//! A repository over smart HTTP: git's own `http-backend` behind a small CGI gateway.

use std::process::Stdio;

use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;
use tokio::io::AsyncWriteExt as _;

use super::Git;
use crate::loopback::{Access, HttpServer};

/// A repository served over HTTP; dropping it ends the server, not the repository.
#[derive(Debug)]
pub struct GitServer {
    server: HttpServer,
    name: &'static str,
}

impl GitServer {
    pub(super) async fn start(git: Git, name: &'static str, access: Access) -> Result<Self> {
        let router = Router::new().fallback(serve).layer(DefaultBodyLimit::max(64 << 20)).with_state(git);
        Ok(Self { server: HttpServer::start(router, access, None).await?, name })
    }

    /// The address to clone from and push to.
    pub fn url(&self) -> String {
        format!("{}/{}", self.server.url(), self.name)
    }
}

async fn serve(
    State(git): State<Git>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> axum::response::Response {
    match backend(&git, &method, &uri, &headers, &body).await {
        Ok(response) => response.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response(),
    }
}

async fn backend(
    git: &Git,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response<axum::body::Body>> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut child = git
        .command(&git.root)
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &git.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", method.as_str())
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not run git http-backend")?;
    let mut input = child.stdin.take().context("git http-backend has no input")?;
    // Both at once: the backend may answer before it has read everything, and would block on a full pipe.
    let (written, output) = tokio::join!(
        async {
            let written = input.write_all(body).await;
            drop(input);
            written
        },
        child.wait_with_output()
    );
    let output = output.context("git http-backend broke off")?;
    let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let end =
        output.stdout.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(|| {
            anyhow!("git http-backend gave no answer: {} (input: {written:?})", complaint())
        })?;
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&output.stdout[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().unwrap_or(value);
            response = response.status(code);
        } else {
            response = response.header(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
    }
    let body = output.stdout[end + 4..].to_vec();
    response
        .header(header::CONTENT_LENGTH, body.len())
        .body(body.into())
        .context("git http-backend answered nonsense")
}
