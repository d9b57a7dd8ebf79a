//! The few words of the WebDriver protocol that a test needs.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::loopback::client;
use crate::{Part, until};

/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Whether chromedriver answers on this port; `false` where it ended instead, as with a port that is taken.
pub(super) async fn ready(port: u16, driver: &Part) -> Result<bool> {
    let client = client(None, Duration::from_secs(5))?;
    until("chromedriver to answer", Duration::from_secs(30), async || {
        let answer = client.get(format!("http://127.0.0.1:{port}/status")).send().await;
        match answer {
            Ok(_) if driver.is_running() => Some(true),
            Ok(_) => Some(false),
            Err(_) => (!driver.is_running()).then_some(false),
        }
    })
    .await
    .with_context(|| format!("chromedriver said: {}", driver.log()))
}

/// One browser window, as the driver knows it.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    url: String,
}

/// A piece of the page.
#[derive(Debug)]
pub(super) struct Element(String);

impl Element {
    pub(super) fn path(&self, action: &str) -> String {
        format!("element/{}/{action}", self.0)
    }

    fn read(value: &Value) -> Result<Self> {
        let id = value[ELEMENT].as_str().ok_or_else(|| anyhow!("the driver named no element: {value}"))?;
        Ok(Self(id.to_owned()))
    }
}

impl Session {
    pub(super) async fn start(port: u16, capabilities: &Value) -> Result<Self> {
        let client = client(None, Duration::from_mins(1))?;
        let url = format!("http://127.0.0.1:{port}/session");
        let wanted = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let begun = command(&client, Method::POST, &url, Some(&wanted)).await?;
        let id =
            begun["sessionId"].as_str().ok_or_else(|| anyhow!("the driver named no session: {begun}"))?;
        Ok(Self { url: format!("{url}/{id}"), client })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        command(&self.client, Method::GET, &format!("{}/{path}", self.url), None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        command(&self.client, Method::POST, &format!("{}/{path}", self.url), Some(body)).await
    }

    pub(super) async fn end(&self) -> Result<()> {
        command(&self.client, Method::DELETE, &self.url, None).await.map(drop)
    }

    pub(super) async fn find(&self, css: &str) -> Result<Element> {
        Element::read(&self.post("element", &selector(css)).await?)
    }

    pub(super) async fn find_all(&self, css: &str) -> Result<Vec<Element>> {
        let found = self.post("elements", &selector(css)).await?;
        found.as_array().into_iter().flatten().map(Element::read).collect()
    }
}

fn selector(css: &str) -> Value {
    json!({ "using": "css selector", "value": css })
}

async fn command(client: &Client, method: Method, url: &str, body: Option<&Value>) -> Result<Value> {
    let mut request = client.request(method, url);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.context("chromedriver does not answer")?;
    let status = response.status();
    let mut answer: Value = response.json().await.context("chromedriver answered without JSON")?;
    let value = answer["value"].take();
    if !status.is_success() {
        // The driver appends its version and a stack trace; the first line says it.
        let message = value["message"].as_str().unwrap_or_default();
        let message = message.lines().next().unwrap_or_default();
        bail!("{}: {message}", value["error"].as_str().unwrap_or("the browser refused"));
    }
    Ok(value)
}
