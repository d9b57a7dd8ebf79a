//! Somebody with a browser: cookies, redirects, and forms that submit themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Response, Url};

/// A browser of one person, as far as logging in needs one.
#[derive(Debug)]
pub struct Visitor {
    client: Client,
    cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// A fresh browser.
    pub fn new() -> Result<Self> {
        // Redirects are followed by hand: each sets cookies.
        let client = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("could not make an HTTP client")?;
        Ok(Self { client, cookies: BTreeMap::new() })
    }

    /// Goes to an issuer's page and along its redirects, until one leads elsewhere: that address. It is not
    /// visited.
    pub async fn leave(&mut self, address: &str) -> Result<Url> {
        let mut here: Url = address.parse().context("that is no address")?;
        for _ in 0..10 {
            let reply = self.get(&here).await?;
            let Some(next) = redirect(&here, &reply)? else {
                bail!("{here} leads nowhere ({})", reply.status());
            };
            if next.origin() != here.origin() {
                return Ok(next);
            }
            here = next;
        }
        bail!("{address} redirects without an end")
    }

    /// Confirms a code on an issuer's page for devices, and gives the text of the last page.
    pub async fn confirm_device(&mut self, address: &str) -> Result<String> {
        let mut here: Url = address.parse().context("that is no address")?;
        let mut page = self.get(&here).await?.text().await?;
        // The code first, then the confirmation.
        for _ in 0..3 {
            let Some(form) = form(&page) else { return Ok(page) };
            let action = here.join(&form.action)?;
            let reply = self.send(self.client.post(action.clone()).form(&form.fields)).await?;
            here = action;
            page = match redirect(&here, &reply)? {
                Some(next) => self.follow(next).await?,
                None => reply.text().await?,
            };
        }
        Ok(page)
    }

    async fn follow(&mut self, mut here: Url) -> Result<String> {
        for _ in 0..10 {
            let reply = self.get(&here).await?;
            match redirect(&here, &reply)? {
                Some(next) => here = next,
                None => return Ok(reply.text().await?),
            }
        }
        bail!("{here} redirects without an end")
    }

    async fn get(&mut self, address: &Url) -> Result<Response> {
        self.send(self.client.get(address.clone())).await
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Result<Response> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let reply = request.header(COOKIE, cookies.join("; ")).send().await.context("visiting a page")?;
        for set in reply.headers().get_all(SET_COOKIE) {
            let pair = set.to_str()?.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(reply)
    }
}

fn redirect(here: &Url, reply: &Response) -> Result<Option<Url>> {
    let Some(location) = reply.headers().get(LOCATION).filter(|_| reply.status().is_redirection()) else {
        return Ok(None);
    };
    Ok(Some(here.join(location.to_str()?)?))
}

struct Form {
    action: String,
    fields: Vec<(String, String)>,
}

/// The form of a page, with its hidden fields.
fn form(page: &str) -> Option<Form> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let (_, rest) = page.split_once("<form")?;
    let (form, _) = rest.split_once("</form>")?;
    let action = attribute(form.split_once('>')?.0, "action")?;
    let inputs = form.split("<input").skip(1).filter_map(|tag| tag.split_once('>').map(|(tag, _)| tag));
    let fields = inputs.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?)));
    Some(Form { action, fields: fields.collect() })
}
