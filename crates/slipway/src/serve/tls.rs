//! Certificates that are read again when their files change.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use axum_server::tls_rustls::RustlsConfig;
use tracing::{info, warn};
use zeroize::Zeroizing;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// What the files hold.
type Content = (Vec<u8>, Zeroizing<Vec<u8>>);

/// TLS 1.2 and 1.3 with the certificate and key in these files.
pub(super) async fn config(files: &(PathBuf, PathBuf)) -> anyhow::Result<RustlsConfig> {
    let content = read(files)?;
    let config = RustlsConfig::from_pem(content.0.clone(), content.1.to_vec())
        .await
        .with_context(|| format!("using the certificate {} with its key", files.0.display()))?;
    tokio::spawn(watch(config.clone(), files.clone(), content));
    Ok(config)
}

/// A pair that does not fit, such as one that is being written, is left alone until it does.
async fn watch(config: RustlsConfig, files: (PathBuf, PathBuf), mut used: Content) {
    let mut refused = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let content = match read(&files) {
            Ok(content) if content == used || refused.as_ref() == Some(&content) => continue,
            Ok(content) => content,
            Err(error) => {
                warn!(error = format!("{error:#}"), "the certificate stays as it was");
                continue;
            }
        };
        match config.reload_from_pem(content.0.clone(), content.1.to_vec()).await {
            Ok(()) => {
                info!(file = %files.0.display(), "the certificate was read again");
                used = content;
                refused = None;
            }
            Err(error) => {
                warn!(%error, file = %files.0.display(), "the new certificate cannot be used; the old one stays");
                refused = Some(content);
            }
        }
    }
}

fn read((certificate, key): &(PathBuf, PathBuf)) -> anyhow::Result<Content> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("reading {}", path.display()));
    Ok((read(certificate)?, Zeroizing::new(read(key)?)))
}
