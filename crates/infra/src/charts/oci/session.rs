//! Talking to one registry about one chart.

use http::HeaderValue;
use serde::Deserialize;
use slipway_domain::operator::ChartSource;
use slipway_orchestrator::ports::charts::{ChartsError, Credentials, RepositoryAccess};
use url::Url;

use super::challenge::Challenge;
use crate::charts::access::authorization;
use crate::charts::fetch::{Ask, Fetched, Fetcher};
use crate::charts::http::succeeded;

/// The most pages of tags that are read, a thousand each.
const MOST_PAGES: usize = 20;
const MOST_PAGE: usize = 4 << 20;

/// A registry that was asked who may ask.
pub(super) struct Session<'a> {
    fetcher: &'a Fetcher,
    access: &'a RepositoryAccess,
    host: String,
    /// `…/v2/`.
    root: Url,
    /// The path of the chart's repository.
    path: String,
    authorization: Option<HeaderValue>,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Session<'a> {
    /// Finds out how the registry is spoken to.
    pub(super) async fn begin(
        fetcher: &'a Fetcher,
        source: &ChartSource,
        access: &'a RepositoryAccess,
    ) -> Result<Self, ChartsError> {
        let host = source.repository.host();
        let above = source.repository.url().path().trim_matches('/');
        let path =
            if above.is_empty() { source.chart.to_string() } else { format!("{above}/{}", source.chart) };
        let unreachable = |reason| ChartsError::Unreachable { host: host.clone(), reason };
        let root = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/v2/"))
                .map_err(|_| unreachable("it has no address".to_owned()))
        };
        let ask = |url: Url| Ask {
            url,
            authority: access.authority.as_deref(),
            authorization: None,
            accept: None,
            known: None,
            most: MOST_PAGE,
        };
        let mut first = root("https")?;
        let mut answer = fetcher.fetch(ask(first.clone())).await;
        // A registry of this machine may do without encryption; no other may.
        if answer.is_err() && source.repository.is_loopback() && access.authority.is_none() {
            let plain = root("http")?;
            // An encrypted port answers a plain request too, to say that it is wrong there.
            if let Ok(found) = fetcher.fetch(ask(plain.clone())).await
                && matches!(found.status.as_u16(), 200 | 401)
            {
                (first, answer) = (plain, Ok(found));
            }
        }
        let answer = answer.map_err(unreachable)?;
        let mut session = Self { fetcher, access, host, root: first, path, authorization: None };
        session.authorization = session.authorize(&answer).await?;
        Ok(session)
    }

    /// Every tag, as far as a registry can be asked.
    pub(super) async fn tags(&self) -> Result<Vec<String>, ChartsError> {
        let mut next = self.url(&format!("{}/tags/list?n=1000", self.path))?;
        let mut all = Vec::new();
        for _ in 0..MOST_PAGES {
            let answer = self.get(next.clone(), None, MOST_PAGE).await?;
            if answer.status == http::StatusCode::NOT_FOUND {
                return Ok(all);
            }
            succeeded(&answer, &self.host, self.access)?;
            let page: Tags = serde_json::from_slice(&answer.body)
                .map_err(|_| self.strange("a list of tags that cannot be read"))?;
            all.extend(page.tags.unwrap_or_default());
            match answer.header("link").and_then(following) {
                Some(link) => {
                    let link = next.join(link).map_err(|_| self.strange("a next page without an address"))?;
                    if link.origin() != self.root.origin() {
                        return Err(self.strange("a next page on another host"));
                    }
                    next = link;
                }
                None => return Ok(all),
            }
        }
        Ok(all)
    }

    /// A manifest; nothing where there is none of that name.
    pub(super) async fn manifest(
        &self,
        tag: &str,
        kind: &'static str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ChartsError> {
        let answer = self.get(self.url(&format!("{}/manifests/{tag}", self.path))?, Some(kind), most).await?;
        if answer.status == http::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        succeeded(&answer, &self.host, self.access)?;
        Ok(Some(answer.body))
    }

    /// A blob; whoever asks compares its digest.
    pub(super) async fn blob(&self, digest: &str, most: usize) -> Result<Vec<u8>, ChartsError> {
        let answer = self.get(self.url(&format!("{}/blobs/{digest}", self.path))?, None, most).await?;
        succeeded(&answer, &self.host, self.access)?;
        Ok(answer.body)
    }

    /// An answer that no registry gives.
    pub(super) fn strange(&self, what: &str) -> ChartsError {
        ChartsError::Unreachable { host: self.host.clone(), reason: format!("it answers with {what}") }
    }

    fn url(&self, below: &str) -> Result<Url, ChartsError> {
        self.root.join(below).map_err(|_| self.strange("no address"))
    }

    async fn get(&self, url: Url, accept: Option<&'static str>, most: usize) -> Result<Fetched, ChartsError> {
        self.fetcher
            .fetch(Ask {
                url,
                authority: self.access.authority.as_deref(),
                authorization: self.authorization.as_ref(),
                accept,
                known: None,
                most,
            })
            .await
            .map_err(|reason| ChartsError::Unreachable { host: self.host.clone(), reason })
    }

    /// What goes with every request, by what the registry said to the first.
    async fn authorize(&self, first: &Fetched) -> Result<Option<HeaderValue>, ChartsError> {
        let own = authorization(&self.access.credentials);
        let challenge = first.header("www-authenticate").and_then(Challenge::parse);
        match (challenge, &self.access.credentials) {
            (None | Some(Challenge::Basic), _)
            | (Some(Challenge::Bearer { .. }), Credentials::Bearer { .. }) => Ok(own),
            (Some(Challenge::Bearer { realm, service, scope: _ }), _) => {
                self.token(&realm, service.as_deref(), own.as_ref()).await.map(Some)
            }
        }
    }

    /// Fetches a token for reading this chart from where the registry says.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        own: Option<&HeaderValue>,
    ) -> Result<HeaderValue, ChartsError> {
        let mut url = Url::parse(realm).map_err(|_| self.strange("a token service without an address"))?;
        // Credentials go there: only over an encrypted connection, or to the registry itself.
        if url.scheme() != "https" && url.origin() != self.root.origin() {
            return Err(self.strange("a token service that is not encrypted"));
        }
        url.query_pairs_mut().append_pair("scope", &format!("repository:{}:pull", self.path));
        if let Some(service) = service {
            url.query_pairs_mut().append_pair("service", service);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let answer = self
            .fetcher
            .fetch(Ask {
                url,
                authority: self.access.authority.as_deref(),
                authorization: own,
                accept: None,
                known: None,
                most: MOST_PAGE,
            })
            .await
            .map_err(|reason| ChartsError::Unreachable { host: host.clone(), reason })?;
        succeeded(&answer, &host, self.access)?;
        let token: Token =
            serde_json::from_slice(&answer.body).map_err(|_| self.strange("a token that cannot be read"))?;
        let token = token.token.or(token.access_token).ok_or_else(|| self.strange("no token"))?;
        let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| self.strange("a token that cannot be sent"))?;
        header.set_sensitive(true);
        Ok(header)
    }
}

/// The address of the next page: `</v2/…>; rel="next"`.
fn following(link: &str) -> Option<&str> {
    let (address, rest) = link.split_once('>')?;
    rest.contains("next").then(|| address.trim_start().trim_start_matches('<'))
}
