//! A real OCI registry for charts.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::chart::{Chart, hexadecimal};
use crate::loopback::{Access, Identity, client};
use crate::{Part, Program, Scratch, free_port, scratch, until};

/// Another program may take the port between our look and the registry's start.
const ATTEMPTS: usize = 5;

/// What marks an OCI artifact as a helm chart.
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A running registry; dropping it ends it and removes what it stored.
#[derive(Debug)]
pub struct OciRegistry {
    port: u16,
    access: Access,
    identity: Option<Identity>,
    client: Client,
    // Before its folder: the program ends first.
    part: Part,
    _scratch: Scratch,
}

/// What the registry is told before it starts.
#[derive(Clone, Debug, Default)]
pub struct OciRegistryBuilder {
    access: Access,
    tls: bool,
}

impl OciRegistryBuilder {
    /// Serves only whoever knows this user name and password.
    #[must_use]
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.access = Access::login(user, password);
        self
    }

    /// Serves over TLS, with a certificate that [`OciRegistry::ca_pem`] vouches for.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts the registry on a free port of the loopback interface, empty.
    pub async fn start(self) -> Result<OciRegistry> {
        let mut identity = self.tls.then(Identity::new).transpose()?;
        let mut failures = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let scratch = scratch("registry")?;
            write_settings(scratch.path(), port, &self.access, identity.as_ref())?;
            let program = Part::builder("registry", Program::DockerRegistry.find()?)
                .arg("serve")
                .arg(scratch.path().join("registry.json"))
                .cwd(scratch.path())
                .start()?;
            let authority = identity.as_ref().map(Identity::authority_pem);
            let client = client(authority, Duration::from_secs(30))?;
            let registry = OciRegistry {
                port,
                access: self.access.clone(),
                identity,
                client,
                part: program,
                _scratch: scratch,
            };
            if registry.ready().await? {
                return Ok(registry);
            }
            failures = registry.part.log();
            identity = registry.identity;
        }
        bail!("the registry did not start on any of {ATTEMPTS} ports; it said: {failures}")
    }
}

impl OciRegistry {
    /// A registry for everybody, without encryption.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A registry with rules of its own.
    pub fn builder() -> OciRegistryBuilder {
        OciRegistryBuilder::default()
    }

    /// `127.0.0.1:port`, as `helm registry login` wants it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where charts are: `oci://127.0.0.1:port/charts`; a chart's name follows after a slash.
    pub fn url(&self) -> String {
        format!("oci://{}/charts", self.host())
    }

    /// The certificate of the authority that a client must trust, where the registry uses TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.identity.as_ref().map(Identity::authority_pem)
    }

    /// Pushes a chart as `helm push` would and returns the digest of its manifest, `sha256:…`.
    pub async fn push(&self, chart: &Chart) -> Result<String> {
        let layer = self.push_blob(chart, chart.archive().to_vec()).await?;
        let config = serde_json::to_vec(chart.metadata()).context("could not write the chart's metadata")?;
        let config_size = config.len();
        let config = self.push_blob(chart, config).await?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": { "mediaType": CONFIG, "digest": config, "size": config_size },
            "layers": [{ "mediaType": LAYER, "digest": layer, "size": chart.archive().len() }],
        });
        let manifest = serde_json::to_vec(&manifest).context("could not write the chart's manifest")?;
        let digest = format!("sha256:{}", hexadecimal(&Sha256::digest(&manifest)));
        // A tag cannot hold a plus; helm writes an underscore for it and reads it back.
        let tag = chart.version().replace('+', "_");
        let url = self.address(&format!("charts/{}/manifests/{tag}", chart.name()))?;
        let request = self.client.put(url).header(CONTENT_TYPE, MANIFEST).body(manifest);
        self.send(request, StatusCode::CREATED).await?;
        Ok(digest)
    }

    /// What the registry printed.
    pub fn log(&self) -> String {
        self.part.log()
    }

    async fn push_blob(&self, chart: &Chart, blob: Vec<u8>) -> Result<String> {
        let digest = format!("sha256:{}", hexadecimal(&Sha256::digest(&blob)));
        let begin_upload =
            self.client.post(self.address(&format!("charts/{}/blobs/uploads/", chart.name()))?);
        let answer = self.send(begin_upload, StatusCode::ACCEPTED).await?;
        let location = answer
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok())
            .ok_or_else(|| anyhow!("the registry does not say where to upload to"))?;
        let mut url = self.address("")?.join(location).context("the registry gave a bad upload address")?;
        url.query_pairs_mut().append_pair("digest", &digest);
        let upload = self.client.put(url).header(CONTENT_TYPE, "application/octet-stream").body(blob);
        self.send(upload, StatusCode::CREATED).await?;
        Ok(digest)
    }

    async fn send(&self, request: RequestBuilder, expected: StatusCode) -> Result<Response> {
        let request = match &self.access {
            Access::Anyone => request,
            Access::Login { user, password } => request.basic_auth(user, Some(password)),
        };
        let response = request.send().await.context("could not reach the registry")?;
        let status = response.status();
        if status != expected {
            bail!("the registry answered {status}: {}", response.text().await.unwrap_or_default());
        }
        Ok(response)
    }

    fn address(&self, path: &str) -> Result<Url> {
        let scheme = if self.identity.is_some() { "https" } else { "http" };
        Url::parse(&format!("{scheme}://{}/v2/{path}", self.host())).context("not an address of the registry")
    }

    /// Whether it serves; `false` where it ended instead, as with a port that is taken.
    async fn ready(&self) -> Result<bool> {
        let url = self.address("")?;
        until("the registry to answer", Duration::from_secs(30), async || {
            let request = self.client.get(url.clone());
            match self.send(request, StatusCode::OK).await {
                // Asked of the running program only: another's registry may have taken the port.
                Ok(_) if self.part.is_running() => Some(true),
                Ok(_) => Some(false),
                Err(_) => (!self.part.is_running()).then_some(false),
            }
        })
        .await
        .with_context(|| format!("the registry said: {}", self.part.log()))
    }
}

fn write_settings(folder: &Path, port: u16, access: &Access, identity: Option<&Identity>) -> Result<()> {
    let mut settings = json!({
        "version": "0.1",
        "log": { "level": "warn", "accesslog": { "disabled": true } },
        "storage": {
            "filesystem": { "rootdirectory": folder.join("storage") },
            "delete": { "enabled": true },
        },
        "http": { "addr": format!("127.0.0.1:{port}"), "secret": "only for tests" },
    });
    let write = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("could not write {}", path.display()))?;
        anyhow::Ok(path)
    };
    if let Some(identity) = identity {
        settings["http"]["tls"] = json!({
            "certificate": write("server.pem", identity.certificate_pem())?,
            "key": write("server.key", &identity.key_pem())?,
        });
    }
    if let Access::Login { user, password } = access {
        // The cheapest hash that the registry accepts: it guards nothing here.
        let hash = bcrypt::hash(password, 4).context("could not hash the registry's password")?;
        let file = write("htpasswd", &format!("{user}:{hash}\n"))?;
        settings["auth"] = json!({ "htpasswd": { "realm": "tests", "path": file } });
    }
    // JSON is YAML too.
    write("registry.json", &settings.to_string())?;
    Ok(())
}
