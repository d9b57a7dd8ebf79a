//! Values of settings, read the same way from flags, variables and the file.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Switch(pub bool);

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(Self(true)),
            "false" | "off" | "no" | "0" => Ok(Self(false)),
            _ => Err("expected true or false".to_owned()),
        }
    }
}

/// A time: `10m`, `1h30m`, `500ms`, or ISO 8601 (`PT10M`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span: Option<SignedDuration> = text.trim().parse().ok();
        span.and_then(|span| Duration::try_from(span).ok())
            .map(Self)
            .ok_or_else(|| "expected a time such as 30s, 10m or 1h30m".to_owned())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a time such as 30s, 10m or 1h30m")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Names, with commas between them; in the file also a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self(names.map(str::to_owned).collect()))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Names;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of names")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(List)
    }
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for terminals.
    Pretty,
}

/// Where the certificates of webhooks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Certificates {
    /// From a CA of the operator's own, kept in a Secret and renewed in time.
    #[default]
    SelfSigned,
    /// From files that something else renews, such as cert-manager.
    Files,
}

/// Whether CRDs are installed at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum InstallCrds {
    /// They are someone else's.
    #[default]
    Never,
    /// Unless the change would break objects or clients.
    Safe,
    /// Whatever it breaks.
    Force,
}

/// An enum from a variable, with the values it could have in the error.
pub(super) fn choice<T: clap::ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let known = T::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_switches_are_read_as_people_write_them() {
        let time = |text: &str| text.parse::<Span>().map(|span| span.0);
        assert_eq!(time("10m"), Ok(Duration::from_mins(10)));
        assert_eq!(time("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("PT20S"), Ok(Duration::from_secs(20)));
        for bad in ["", "10", "ten minutes", "-5s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert_eq!("On".parse(), Ok(Switch(true)));
        assert_eq!("false".parse(), Ok(Switch(false)));
        assert!("maybe".parse::<Switch>().is_err());
        assert_eq!(" a, b,,".parse(), Ok(Names(vec!["a".to_owned(), "b".to_owned()])));
    }
}
