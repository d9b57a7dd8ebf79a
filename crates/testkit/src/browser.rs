//! A real, headless Chromium, so that tests see pages as people do.
//!
//! It is driven through chromedriver by the WebDriver protocol. Each browser has an empty profile of its
//! own. Acting on an element waits a little for it to appear, since pages fill in after they load.

mod webdriver;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::{Part, Program, Scratch, free_port, scratch, until};
use webdriver::Session;

/// How long an element may take to appear before acting on it fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// Another program may take the port between our look and chromedriver's start.
const ATTEMPTS: usize = 5;

/// No window, no sandbox (it needs what containers lack), and nothing that calls home or keeps waiting.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-breakpad",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--window-size=1280,800",
    // A proxy of the machine is not for pages of this machine.
    "--no-proxy-server",
];

/// A running browser with one window; dropping it ends it and removes its profile.
#[derive(Debug)]
pub struct Browser {
    session: Session,
    errors: Mutex<Vec<String>>,
    // Before its folder: the programs end first.
    driver: Part,
    _scratch: Scratch,
}

/// What the browser is told before it starts.
#[derive(Clone, Debug, Default)]
pub struct BrowserBuilder {
    any_certificate: bool,
}

impl BrowserBuilder {
    /// Opens pages whose certificate nobody vouches for.
    #[must_use]
    pub fn accept_any_certificate(mut self) -> Self {
        self.any_certificate = true;
        self
    }

    /// Starts the browser with an empty page.
    pub async fn start(self) -> Result<Browser> {
        let chromium = Program::Chromium.find()?;
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let scratch = scratch("browser")?;
            let driver = Part::builder("chromedriver", Program::Chromedriver.find()?)
                .arg(format!("--port={port}"))
                // Everything they write stays in a folder that goes away.
                .env("HOME", scratch.path())
                .env("TMPDIR", scratch.path())
                .env("XDG_CONFIG_HOME", scratch.path())
                .env("XDG_CACHE_HOME", scratch.path())
                .cwd(scratch.path())
                .start()?;
            if !webdriver::ready(port, &driver).await? {
                said = driver.log();
                continue;
            }
            let profile = format!("--user-data-dir={}", scratch.path().join("profile").display());
            let flags: Vec<_> = FLAGS.iter().copied().chain([profile.as_str()]).collect();
            let capabilities = json!({
                "browserName": "chrome",
                "acceptInsecureCerts": self.any_certificate,
                "goog:chromeOptions": { "binary": chromium, "args": flags },
                "goog:loggingPrefs": { "browser": "ALL" },
            });
            let session = Session::start(port, &capabilities)
                .await
                .with_context(|| format!("Chromium did not start; chromedriver said: {}", driver.log()))?;
            let browser = Browser { session, errors: Mutex::default(), driver, _scratch: scratch };
            // Chromium's own first page is not empty.
            browser.go("about:blank").await?;
            return Ok(browser);
        }
        bail!("chromedriver did not start on any of {ATTEMPTS} ports; it said: {said}")
    }
}

impl Browser {
    /// A browser that trusts what Chromium trusts.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A browser with rules of its own.
    pub fn builder() -> BrowserBuilder {
        BrowserBuilder::default()
    }

    /// Opens an address and waits until the page has loaded.
    pub async fn go(&self, url: &str) -> Result<()> {
        self.session.post("url", &json!({ "url": url })).await?;
        Ok(())
    }

    /// The address of the page, after redirects.
    pub async fn address(&self) -> Result<String> {
        Ok(text_of(self.session.get("url").await?))
    }

    /// The title of the page.
    pub async fn title(&self) -> Result<String> {
        Ok(text_of(self.session.get("title").await?))
    }

    /// Clicks the first element that fits, as a person would: it must be visible and not covered.
    pub async fn click(&self, css: &str) -> Result<()> {
        // A page that replaces its parts while we look: look again.
        self.retry(&format!("{css} to be clickable"), async || {
            let element = self.session.find(css).await?;
            self.session.post(&element.path("click"), &json!({})).await.map(drop)
        })
        .await
    }

    /// Replaces the content of a field by this text.
    pub async fn type_into(&self, css: &str, text: &str) -> Result<()> {
        self.retry(&format!("{css} to take text"), async || {
            let element = self.session.find(css).await?;
            self.session.post(&element.path("clear"), &json!({})).await?;
            self.session.post(&element.path("value"), &json!({ "text": text })).await.map(drop)
        })
        .await
    }

    /// The text of the first element that fits, as it is shown.
    pub async fn text(&self, css: &str) -> Result<String> {
        self.retry(&format!("{css} to appear"), async || {
            let element = self.session.find(css).await?;
            Ok(text_of(self.session.get(&element.path("text")).await?))
        })
        .await
    }

    /// The text of every element that fits, as it is shown, at this moment.
    pub async fn texts(&self, css: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for element in self.session.find_all(css).await? {
            texts.push(text_of(self.session.get(&element.path("text")).await?));
        }
        Ok(texts)
    }

    /// An attribute of the first element that fits; `None` where the element does not carry it.
    pub async fn attribute(&self, css: &str, name: &str) -> Result<Option<String>> {
        self.retry(&format!("{css} to appear"), async || {
            let element = self.session.find(css).await?;
            let value = self.session.get(&element.path(&format!("attribute/{name}"))).await?;
            Ok(value.as_str().map(str::to_owned))
        })
        .await
    }

    /// Whether anything fits at this moment.
    pub async fn exists(&self, css: &str) -> Result<bool> {
        Ok(!self.session.find_all(css).await?.is_empty())
    }

    /// Waits until something fits.
    pub async fn wait_for(&self, css: &str, deadline: Duration) -> Result<()> {
        let found = until(css, deadline, async || {
            self.exists(css).await.map(|exists| exists.then_some(())).transpose()
        });
        self.explain(found.await.and_then(|found| found), css).await
    }

    /// Waits until the first element that fits shows this text somewhere in it.
    pub async fn wait_for_text(&self, css: &str, text: &str, deadline: Duration) -> Result<()> {
        let what = format!("{text:?} in {css}");
        let found = until(&what, deadline, async || {
            // Between two looks the element may be replaced; the next look sees the new one.
            self.texts(css).await.ok()?.first()?.contains(text).then_some(())
        });
        self.explain(found.await, &what).await
    }

    /// The page as it is now, as HTML.
    pub async fn html(&self) -> Result<String> {
        Ok(text_of(self.session.get("source").await?))
    }

    /// Runs JavaScript in the page and returns what its `return` gives; a promise is awaited.
    pub async fn evaluate(&self, script: &str) -> Result<Value> {
        self.session.post("execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// A picture of what the window shows, as PNG.
    pub async fn picture(&self) -> Result<Vec<u8>> {
        let encoded = text_of(self.session.get("screenshot").await?);
        BASE64.decode(encoded).context("the browser's picture is not base64")
    }

    /// Writes a picture of what the window shows to a file, as PNG.
    pub async fn screenshot(&self, path: &Path) -> Result<()> {
        let picture = self.picture().await?;
        std::fs::write(path, picture).with_context(|| format!("could not write {}", path.display()))
    }

    /// Gives the page exactly this much room.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        // Not the window's size: that includes a frame, even without a screen.
        let room = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", room).await.map(drop)
    }

    /// Makes pages believe that the person prefers dark colours, or light ones.
    pub async fn dark_mode(&self, dark: bool) -> Result<()> {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Every error on the console since the start: exceptions, `console.error`, resources that failed.
    pub async fn console_errors(&self) -> Result<Vec<String>> {
        // The driver gives each entry once, so what was read is kept.
        let entries = self.session.post("se/log", &json!({ "type": "browser" })).await?;
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let severe = |entry: &&Value| entry["level"] == "SEVERE";
        let messages = entries.as_array().into_iter().flatten().filter(severe);
        errors.extend(messages.map(|entry| text_of(entry["message"].clone())));
        Ok(errors.clone())
    }

    /// Sends a command of Chrome's own protocol, `DevTools`, for what WebDriver has no word for.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        self.session.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await
    }

    /// Closes the browser and waits until it is gone.
    pub async fn close(self) {
        // The driver's end is the browser's end; asking first lets it close in order.
        let _ = self.session.end().await;
        self.driver.stop().await;
    }

    async fn retry<T, F: Future<Output = Result<T>>>(&self, what: &str, act: impl Fn() -> F) -> Result<T> {
        let last = Mutex::new(None);
        let done = until(what, PATIENCE, async || match act().await {
            Ok(done) => Some(done),
            Err(error) => {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        });
        let done = done.await;
        // Why the last try failed says more than that time ran out.
        let why = last.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.explain(done.map_err(|late| why.unwrap_or(late)), what).await
    }

    /// Adds where the browser was, so that a failed test says more than a selector.
    async fn explain<T>(&self, outcome: Result<T>, what: &str) -> Result<T> {
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => {
                let address = self.address().await.unwrap_or_default();
                let shown = self.texts("body").await.unwrap_or_default().join(" ");
                Err(error.context(format!("waited for {what} on {address}, which shows: {shown}")))
            }
        }
    }
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
