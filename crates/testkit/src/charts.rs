//! Helm charts made in a test, and the places that programs pull them from: an HTTP repository with an
//! index, and a real OCI registry.

mod chart;
mod index;
mod registry;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::loopback::{Access, HttpServer, Identity};
use chart::hexadecimal;

pub use chart::{Chart, ChartBuilder};
pub use registry::{OciRegistry, OciRegistryBuilder};

/// A chart repository over HTTP: `index.yaml` and the archives that it names.
#[derive(Debug)]
pub struct ChartRepository {
    server: HttpServer,
    identity: Option<Identity>,
    offer: Arc<Mutex<Offer>>,
}

/// What the repository is told before it starts.
#[derive(Clone, Debug, Default)]
pub struct ChartRepositoryBuilder {
    access: Access,
    tls: bool,
}

#[derive(Debug, Default)]
struct Offer {
    /// By the name of the archive, `<chart>-<version>.tgz`.
    charts: BTreeMap<String, Chart>,
    /// The index of these charts, once somebody asked for it: writing it takes a while for a thousand.
    index: Option<Index>,
    broken: Option<StatusCode>,
    requests: Vec<String>,
}

#[derive(Clone, Debug)]
struct Index {
    bytes: Bytes,
    tag: HeaderValue,
}

impl Offer {
    /// Changes what is on offer.
    fn charts(&mut self) -> &mut BTreeMap<String, Chart> {
        self.index = None;
        &mut self.charts
    }

    fn index(&mut self) -> Result<Index> {
        if let Some(index) = &self.index {
            return Ok(index.clone());
        }
        let text = index::render(self.charts.values())?;
        let tag = HeaderValue::from_str(&format!("\"{}\"", hexadecimal(&Sha256::digest(&text))))?;
        let index = Index { bytes: text.into(), tag };
        self.index = Some(index.clone());
        Ok(index)
    }
}

impl ChartRepositoryBuilder {
    /// Serves only whoever knows this user name and password.
    #[must_use]
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.access = Access::login(user, password);
        self
    }

    /// Serves over TLS, with a certificate that [`ChartRepository::ca_pem`] vouches for.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts the repository on a free port of the loopback interface, empty.
    pub async fn start(self) -> Result<ChartRepository> {
        let identity = self.tls.then(Identity::new).transpose()?;
        let offer = Arc::<Mutex<Offer>>::default();
        let router = Router::new().fallback(serve).with_state(Arc::clone(&offer));
        let server = HttpServer::start(router, self.access, identity.as_ref()).await?;
        Ok(ChartRepository { server, identity, offer })
    }
}

impl ChartRepository {
    /// A repository for everybody, without encryption.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A repository with rules of its own.
    pub fn builder() -> ChartRepositoryBuilder {
        ChartRepositoryBuilder::default()
    }

    /// The address to give to `helm repo add` or `helm pull --repo`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The certificate of the authority that a client must trust, where the repository uses TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.identity.as_ref().map(Identity::authority_pem)
    }

    /// Puts a chart on offer; the same version again replaces it, as a careless publisher would.
    pub fn add(&self, chart: &Chart) {
        self.offer().charts().insert(chart.file_name(), chart.clone());
    }

    /// Takes a version away.
    pub fn remove(&self, name: &str, version: &str) -> Result<()> {
        if self.offer().charts().remove(&format!("{name}-{version}.tgz")).is_none() {
            bail!("the chart repository has no {name} {version}");
        }
        Ok(())
    }

    /// Answers everything with this status, until [`ChartRepository::mend`].
    pub fn break_with(&self, status: u16) -> Result<()> {
        self.offer().broken = Some(StatusCode::from_u16(status)?);
        Ok(())
    }

    /// Answers properly again.
    pub fn mend(&self) {
        self.offer().broken = None;
    }

    /// The path of every request that was let in, in order: whether something was fetched, and how often.
    pub fn requests(&self) -> Vec<String> {
        self.offer().requests.clone()
    }

    fn offer(&self) -> MutexGuard<'_, Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(State(offer): State<Arc<Mutex<Offer>>>, uri: Uri, headers: HeaderMap) -> Response {
    let mut offer = offer.lock().unwrap_or_else(PoisonError::into_inner);
    let path = uri.path().trim_start_matches('/');
    offer.requests.push(path.to_owned());
    if let Some(status) = offer.broken {
        return (status, "broken, as the test asked\n").into_response();
    }
    if path == "index.yaml" {
        return match offer.index() {
            // As most servers of files do: whoever knows the index by its tag is not sent it again.
            Ok(index) if headers.get(header::IF_NONE_MATCH) == Some(&index.tag) => {
                (StatusCode::NOT_MODIFIED, [(header::ETAG, index.tag)]).into_response()
            }
            Ok(Index { bytes, tag }) => {
                let kind = HeaderValue::from_static("application/x-yaml");
                ([(header::CONTENT_TYPE, kind), (header::ETAG, tag)], bytes).into_response()
            }
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response(),
        };
    }
    match path.strip_prefix("charts/").and_then(|name| offer.charts.get(name)) {
        Some(chart) => {
            ([(header::CONTENT_TYPE, "application/gzip")], chart.archive().to_vec()).into_response()
        }
        None => (StatusCode::NOT_FOUND, "no such chart\n").into_response(),
    }
}
