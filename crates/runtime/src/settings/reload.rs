//! Following the configuration file while the operator runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::document::{self, File};
use super::error::SettingsError;
use super::flags::{Change, file_key};
use super::{Given, Loaded};

/// How often the file is looked at. Mounted `ConfigMap`s swap a link, which file watches miss.
const LOOK: Duration = Duration::from_secs(2);

/// What may change without a restart.
#[derive(Debug)]
pub struct Live<Extra> {
    /// What is logged.
    pub log_level: String,
    /// Requests to the API server per second, on average.
    pub api_qps: f64,
    /// Requests to the API server at once.
    pub api_burst: u32,
    /// The operator's own section.
    pub extra: Arc<Extra>,
}

impl<Extra> Clone for Live<Extra> {
    fn clone(&self) -> Self {
        Self {
            log_level: self.log_level.clone(),
            api_qps: self.api_qps,
            api_burst: self.api_burst,
            extra: Arc::clone(&self.extra),
        }
    }
}

/// Follows the file, and says what changed. It ends when this is dropped.
#[derive(Debug)]
pub struct Watcher<Extra> {
    live: watch::Receiver<Live<Extra>>,
    task: JoinHandle<()>,
}

impl<Extra> Drop for Watcher<Extra> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<Extra: DeserializeOwned + Default + Send + Sync + 'static> Watcher<Extra> {
    /// Follows the file that settings were loaded from, on the current runtime; without a file nothing changes.
    pub fn start(loaded: Loaded<Extra>) -> Self {
        let (sender, live) = watch::channel(loaded.live());
        let task = tokio::spawn(follow(Following::new(loaded), sender));
        Self { live, task }
    }

    /// What holds now, and later.
    pub fn live(&self) -> watch::Receiver<Live<Extra>> {
        self.live.clone()
    }
}

impl<Extra> Loaded<Extra> {
    /// What may change without a restart, as it is now.
    pub fn live(&self) -> Live<Extra> {
        Live {
            log_level: self.settings.log_level.clone(),
            api_qps: self.settings.api_qps,
            api_burst: self.settings.api_burst,
            extra: Arc::clone(&self.extra),
        }
    }
}

async fn follow<Extra: DeserializeOwned + Default + Send + Sync + 'static>(
    mut following: Following,
    sender: watch::Sender<Live<Extra>>,
) {
    let Some(path) = following.given.fixed.config.clone() else { return };
    let mut unreadable = false;
    loop {
        tokio::time::sleep(LOOK).await;
        let file = path.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || document::text(&file)).await else { return };
        let outcome = match read {
            Ok(text) => {
                unreadable = false;
                following.look(text)
            }
            // It is gone for a moment while it is replaced; said once if it stays so.
            Err(error) if !std::mem::replace(&mut unreadable, true) => Err(error),
            Err(_) => Ok(None),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(changed)) => {
                for key in &changed.restart {
                    tracing::warn!(file = %path.display(), key, "this key changed, and holds after a restart");
                }
                tracing::info!(file = %path.display(), "the configuration file changed and was taken over");
                if sender.send(changed.live).is_err() {
                    return;
                }
            }
            Err(error) => {
                let error = Chain(&error);
                tracing::error!("the changed configuration cannot be used, the old one stays: {error}");
            }
        }
    }
}

struct Chain<'a>(&'a SettingsError);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// What a new text of the file means.
struct Following {
    given: Given,
    section: Option<String>,
    text: Option<String>,
}

struct Changed<Extra> {
    live: Live<Extra>,
    /// Keys of the file whose change needs a restart.
    restart: Vec<String>,
}

impl Following {
    fn new<Extra>(loaded: Loaded<Extra>) -> Self {
        Self { given: loaded.given, section: loaded.section, text: loaded.text }
    }

    /// Takes a text; gives what changed if something did.
    fn look<Extra: DeserializeOwned + Default>(
        &mut self,
        text: String,
    ) -> Result<Option<Changed<Extra>>, SettingsError> {
        if self.text.as_ref() == Some(&text) {
            return Ok(None);
        }
        // A bad text is judged once, not at every look.
        let text = self.text.insert(text);
        let Some(path) = &self.given.fixed.config else { return Ok(None) };
        let file = File::<Extra>::parse(path, text, self.section.as_deref())?;
        let given = Given { file: file.flags, ..self.given.clone() };
        let settings = given.resolve()?;
        // A key that a flag or variable gives does not change by the file.
        let effective = |given: &Given| given.fixed.clone().or(given.file.clone());
        let changed = effective(&self.given).changed(&effective(&given));
        let restart = changed.into_iter().filter(|(_, change)| *change == Change::Restart);
        let restart = restart.map(|(field, _)| file_key(field)).collect();
        self.given = given;
        Ok(Some(Changed {
            live: Live {
                log_level: settings.log_level,
                api_qps: settings.api_qps,
                api_burst: settings.api_burst,
                extra: Arc::new(file.extra),
            },
            restart,
        }))
    }
}

#[cfg(test)]
mod tests;
