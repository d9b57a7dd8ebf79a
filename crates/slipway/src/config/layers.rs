//! File, environment and flags, each over the one before.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::error::ConfigError;
use super::flags::Flags;
use super::nearest::nearest;
use super::setting::{Kind, SETTINGS, Setting};
use super::values::{Origin, Values};

/// Settings are a page of text.
const MOST: u64 = 1024 * 1024;

pub(super) fn read(
    file: Option<&Path>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &Flags,
) -> Result<Values, ConfigError> {
    let mut values = Values::unset();
    if let Some(path) = file {
        let content = parse(path).map_err(|reason| ConfigError(vec![reason]))?;
        spread(&mut values, path, "", content);
    }
    environment(&mut values, variables);
    for (setting, text) in flags.given() {
        values.text(setting, text, Origin::Flag(setting.flag.unwrap_or(setting.key)));
    }
    Ok(values)
}

fn parse(path: &Path) -> Result<Value, String> {
    let shown = path.display();
    let metadata = fs::metadata(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if metadata.len() > MOST {
        return Err(format!("{shown} is larger than 1 MiB"));
    }
    let text = fs::read_to_string(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(&text).map_err(|error| format!("{shown} is not YAML: {error}"))
}

/// Sets what the file holds; groups are walked into, and what is no setting is a problem.
fn spread(values: &mut Values, path: &Path, above: &str, content: Value) {
    let origin = Origin::File(path.to_owned());
    let Value::Object(entries) = content else {
        if !content.is_null() {
            let what = if above.is_empty() { "the file" } else { above };
            values.problem(format!("{what} ({origin}) has to hold settings, each with its name"));
        }
        return;
    };
    for (name, value) in entries {
        let key = if above.is_empty() { name } else { format!("{above}.{name}") };
        if let Some(setting) = Setting::named(&key) {
            // A name without a value means: as if it were not there.
            if value.is_null() {
                continue;
            }
            match (setting.kind, value) {
                // YAML reads some text as numbers.
                (Kind::Text | Kind::Secret, Value::Number(number)) => {
                    values.set(setting, number.to_string().into(), origin.clone());
                }
                (_, value) => values.set(setting, value, origin.clone()),
            }
        } else if SETTINGS.iter().any(|setting| setting.key.starts_with(&format!("{key}."))) {
            spread(values, path, &key, value);
        } else {
            let meant = nearest(&key, SETTINGS.iter().map(|setting| setting.key));
            let hint = meant.map_or_else(
                || "; all settings: slipway config check".to_owned(),
                |meant| format!("; is {meant} meant?"),
            );
            values.problem(format!("{key} ({origin}) is no setting{hint}"));
        }
    }
}

/// Sets what the environment holds. Kubernetes and tools have variables of their own that begin like ours,
/// so a strange one is a problem only if it looks like a slip.
fn environment(values: &mut Values, variables: impl IntoIterator<Item = (OsString, OsString)>) {
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with("SLIPWAY_")) else { continue };
        let known = SETTINGS.iter().find(|setting| setting.variable == name);
        match (known, value.to_str()) {
            (Some(_), Some("")) => {}
            (Some(setting), Some(text)) => {
                let text = if setting.kind == Kind::Switch { &text.to_lowercase() } else { text };
                values.text(setting, text, Origin::Variable(setting.variable));
            }
            (Some(setting), None) => values.problem(format!("{} ({name}) is not text", setting.key)),
            (None, _) => {
                let meant = nearest(name, SETTINGS.iter().map(|setting| setting.variable));
                if let Some(meant) = meant.filter(|_| !ELSEWHERE.contains(&name)) {
                    values.problem(format!("{name} is no setting; is {meant} meant?"));
                }
            }
        }
    }
}

/// Variables of other parts.
const ELSEWHERE: &[&str] = &[
    "SLIPWAY_CA_FILE",
    "SLIPWAY_CONFIG",
    "SLIPWAY_CONTEXT",
    "SLIPWAY_GUARDIAN",
    "SLIPWAY_PG_BIN",
    "SLIPWAY_SERVER",
    "SLIPWAY_TOKEN",
    "SLIPWAY_TOKEN_FILE",
];
