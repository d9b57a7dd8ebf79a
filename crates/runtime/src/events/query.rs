//! Which events someone asks for.

use jiff::Timestamp;

use super::log::LoggedEvent;
use super::note::{EventType, Severity};

/// Narrows the events; what is not set matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// The kind of the object.
    pub kind: Option<String>,
    /// Normal, Warning or Error.
    pub event_type: Option<EventType>,
    /// How bad it is.
    pub severity: Option<Severity>,
    /// Last said at this time or later.
    pub since: Option<Timestamp>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// Why a query is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no such parameter.
    #[error("{0} is unknown; use namespace, name, kind, type, severity, since, limit")]
    Unknown(String),
    /// Its value makes no sense.
    #[error("{parameter}: {reason}")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl EventQuery {
    /// Reads the query of an address: `namespace=shop&severity=Error&limit=10`.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            query.set(&decode(name), decode(value))?;
        }
        Ok(query)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), QueryError> {
        let wrong = |parameter: &'static str| move |reason: String| QueryError::Value { parameter, reason };
        match name {
            "namespace" => self.namespace = Some(value),
            "name" => self.name = Some(value),
            "kind" => self.kind = Some(value),
            "type" => self.event_type = Some(value.parse().map_err(wrong("type"))?),
            "severity" => self.severity = Some(value.parse().map_err(wrong("severity"))?),
            "since" => self.since = Some(moment(&value).map_err(wrong("since"))?),
            "limit" => {
                let limit = value.parse().map_err(|_| wrong("limit")(format!("\"{value}\" is no number")))?;
                self.limit = Some(limit);
            }
            other => return Err(QueryError::Unknown(other.to_owned())),
        }
        Ok(())
    }

    pub(super) fn matches(&self, event: &LoggedEvent) -> bool {
        let object = &event.involved_object;
        self.namespace.as_ref().is_none_or(|namespace| *namespace == object.namespace)
            && self.name.as_ref().is_none_or(|name| *name == object.name)
            && self.kind.as_ref().is_none_or(|kind| *kind == object.kind)
            && self.event_type.is_none_or(|kind| kind == event.kind)
            && self.severity.is_none_or(|severity| severity == event.severity)
            && self.since.is_none_or(|since| event.last_timestamp >= since)
    }
}

/// A time as RFC 3339, or in milliseconds since 1970.
fn moment(text: &str) -> Result<Timestamp, String> {
    let refused = || format!("\"{text}\" is no time; use 2026-01-31T12:00:00Z or milliseconds since 1970");
    if let Ok(milliseconds) = text.parse::<i64>() {
        return Timestamp::from_millisecond(milliseconds).map_err(|_| refused());
    }
    text.parse().map_err(|_| refused())
}

/// Undoes the encoding of addresses; what is not encoded well stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = tail.first_chunk::<2>().and_then(|pair| std::str::from_utf8(pair).ok());
        let encoded = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (*first, encoded) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = tail;
            }
            (byte, _) => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn addresses_are_decoded_and_broken_ones_left_alone() {
        assert_eq!(decode("a%20b+c%2Fd"), "a b c/d");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%4"), "%zz%4");
    }
}
