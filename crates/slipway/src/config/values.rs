//! The values of all settings, each with where it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ConfigError;
use super::setting::{Kind, SETTINGS, Setting, Unset};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    File(PathBuf),
    Variable(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// The values, and what is wrong with them so far.
#[derive(Debug)]
pub(super) struct Values {
    values: BTreeMap<&'static str, (Value, Origin)>,
    problems: Vec<String>,
}

impl Values {
    /// What they are when nobody says anything.
    pub(super) fn unset() -> Self {
        let mut values = Self { values: BTreeMap::new(), problems: Vec::new() };
        for setting in SETTINGS {
            let value = match setting.default {
                Unset::Nothing => Value::Null,
                Unset::Empty => Value::Array(Vec::new()),
                Unset::DataFolder => Value::from(data_folder().to_string_lossy().into_owned()),
                Unset::Value(text) => {
                    values.text(setting, text, Origin::Default);
                    continue;
                }
            };
            values.set(setting, value, Origin::Default);
        }
        values
    }

    pub(super) fn set(&mut self, setting: &'static Setting, value: Value, origin: Origin) {
        self.values.insert(setting.key, (value, origin));
    }

    /// Sets from text, as a variable or a flag has it.
    pub(super) fn text(&mut self, setting: &'static Setting, text: &str, origin: Origin) {
        let value = match setting.kind {
            Kind::Text | Kind::Secret => Ok(Value::from(text)),
            Kind::Number => text.parse::<u64>().map(Value::from).map_err(|_| "is not a whole number"),
            Kind::Switch => text.parse::<bool>().map(Value::from).map_err(|_| "is neither true nor false"),
            Kind::Words => {
                Ok(text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect())
            }
            Kind::Json => serde_json::from_str(text).map_err(|_| "is not JSON"),
        };
        match value {
            Ok(value) => self.set(setting, value, origin),
            Err(reason) => self.problem(format!("{} ({origin}) {reason}", setting.key)),
        }
    }

    pub(super) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Says what is wrong with a setting.
    pub(super) fn wrong(&mut self, key: &'static str, reason: impl fmt::Display) {
        let problem = match self.values.get(key) {
            Some((_, Origin::Default)) | None => format!("{key} {reason}"),
            Some((_, origin)) => format!("{key} ({origin}) {reason}"),
        };
        self.problems.push(problem);
    }

    /// The value of a setting; one that does not fit is a problem.
    pub(super) fn get<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<T, ConfigError> {
        let value = self.values.get(key).map_or(Value::Null, |(value, _)| value.clone());
        serde_json::from_value(value).map_err(|error| {
            let secret = Setting::named(key).is_some_and(|setting| setting.kind == Kind::Secret);
            let reason =
                if secret { "has to be text".to_owned() } else { format!("cannot be used: {error}") };
            self.wrong(key, reason);
            ConfigError::default()
        })
    }

    /// Everything that is wrong so far.
    pub(super) fn finish(&mut self) -> Result<(), ConfigError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(ConfigError(std::mem::take(&mut self.problems)))
    }

    /// Each setting with its value as people may see it and where it came from, in the table's order.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&'static Setting, String, &Origin)> {
        SETTINGS.iter().filter_map(|setting| {
            let (value, origin) = self.values.get(setting.key)?;
            let text = match value {
                Value::Null => "-".to_owned(),
                _ if setting.kind == Kind::Secret => "(hidden)".to_owned(),
                Value::String(text) => text.clone(),
                Value::Array(list) if list.is_empty() => "-".to_owned(),
                Value::Array(list) if list.iter().all(Value::is_string) => {
                    list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            Some((setting, text, origin))
        })
    }
}

/// The usual folder for the data of whoever runs this. Root's is where the user of PostgreSQL can reach it.
fn data_folder() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let own = own.or_else(|| set("HOME").map(|home| home.join(".local/share")));
    match own {
        Some(folder) if !rustix::process::geteuid().is_root() => folder.join("slipway"),
        _ => PathBuf::from("/var/lib/slipway"),
    }
}
