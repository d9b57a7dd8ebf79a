//! Values from the parser's events, within limits.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::scalar::plain;

/// One document of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its content.
    pub value: Value,
    /// Which one it is in its text, from 1.
    pub number: usize,
    /// The line that it begins in, from 1.
    pub line: usize,
}

/// How much a text may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes: usize,
    /// Bytes of one document.
    pub document_bytes: usize,
    /// Lists and maps within each other.
    pub depth: usize,
    /// Values of the whole text, those that aliases repeat counted each time.
    pub values: usize,
}

impl Default for Limits {
    /// Far above what an API server takes: objects of 3 MiB, nested a few dozen times.
    fn default() -> Self {
        Self { bytes: 64 << 20, document_bytes: 8 << 20, depth: 256, values: 4_000_000 }
    }
}

/// Reads a text; empty documents are left out.
pub fn read(text: &str) -> Result<Vec<Document>, ReadError> {
    read_with(text, &Limits::default())
}

/// Reads a text within limits of one's own.
pub fn read_with(text: &str, limits: &Limits) -> Result<Vec<Document>, ReadError> {
    let mut reader = Reader {
        limits,
        documents: 0,
        values: 0,
        line: 1,
        anchors: HashMap::new(),
        stack: Vec::new(),
        root: None,
    };
    if text.len() > limits.bytes {
        return Err(reader.error(format!(
            "the text has {}, more than the {} that are read",
            size(text.len()),
            size(limits.bytes)
        )));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Vec::new();
    let (mut first_line, mut first_byte) = (1, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| reader.scan_error(&error, text))?;
        reader.line = span.start.line();
        match event {
            Event::DocumentStart(_) => {
                reader.documents += 1;
                (first_line, first_byte) = (span.start.line(), span.start.index());
                reader.anchors.clear();
            }
            Event::DocumentEnd => {
                let value = reader.root.take().unwrap_or(Value::Null);
                if !value.is_null() {
                    found.push(Document { value, number: reader.documents, line: first_line });
                }
            }
            event => {
                if span.end.index().saturating_sub(first_byte) > limits.document_bytes {
                    let limit = size(limits.document_bytes);
                    return Err(reader.error(format!(
                        "the document is larger than {limit}, and no API server takes an object of that size"
                    )));
                }
                reader.take(event, span)?;
            }
        }
    }
    Ok(found)
}

/// A list or map that is not finished.
enum Open {
    List { anchor: usize, values: Vec<Value> },
    Map { anchor: usize, entries: Map<String, Value>, key: Option<String>, merges: Vec<Map<String, Value>> },
}

struct Reader<'a> {
    limits: &'a Limits,
    documents: usize,
    values: usize,
    line: usize,
    anchors: HashMap<usize, (Value, usize)>,
    stack: Vec<Open>,
    root: Option<Value>,
}

impl Reader<'_> {
    fn error(&self, reason: impl Into<String>) -> ReadError {
        ReadError { line: self.line, document: self.documents.max(1), reason: reason.into() }
    }

    fn scan_error(&self, error: &ScanError, text: &str) -> ReadError {
        // At the end of the text the parser points behind it.
        let line = error.marker().line().clamp(1, text.lines().count().max(1));
        let reason = format!("this is not YAML: {}", error.info());
        ReadError { line, document: self.documents.max(1), reason }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), ReadError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_key = matches!(self.stack.last(), Some(Open::Map { key: None, .. }));
                if is_key {
                    return self.key(&text, style, tag.as_deref(), span);
                }
                let value = self.scalar(&text, style, tag.as_deref())?;
                self.count(1)?;
                self.anchor(anchor, &value, 1);
                self.value(value)
            }
            Event::SequenceStart(anchor, _) => self.open(Open::List { anchor, values: Vec::new() }, "a list"),
            Event::MappingStart(anchor, _) => {
                self.open(Open::Map { anchor, entries: Map::new(), key: None, merges: Vec::new() }, "a map")
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let Some((value, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(self.error("an alias refers to a value that is not complete"));
                };
                self.count(size)?;
                if matches!(self.stack.last(), Some(Open::Map { key: None, .. })) {
                    return Err(self.error("an alias cannot be a key"));
                }
                self.value(value)
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, open: Open, what: &str) -> Result<(), ReadError> {
        if matches!(self.stack.last(), Some(Open::Map { key: None, .. })) {
            return Err(self.error(format!("{what} cannot be a key")));
        }
        if self.stack.len() >= self.limits.depth {
            return Err(self.error(format!("values are nested more than {} deep", self.limits.depth)));
        }
        self.count(1)?;
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self) -> Result<(), ReadError> {
        let (anchor, value) = match self.stack.pop() {
            Some(Open::List { anchor, values }) => (anchor, Value::Array(values)),
            Some(Open::Map { anchor, mut entries, merges, .. }) => {
                for merged in merges {
                    for (key, value) in merged {
                        // What the map says itself wins, then what was merged first.
                        entries.entry(key).or_insert(value);
                    }
                }
                (anchor, Value::Object(entries))
            }
            None => return Err(self.error("a list or map ends that never began")),
        };
        if anchor > 0 {
            let size = count(&value);
            self.anchor(anchor, &value, size);
        }
        self.value(value)
    }

    fn key(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), ReadError> {
        // kubectl turns keys into the strings that JSON wants.
        let name = match self.scalar(text, style, tag)? {
            Value::String(name) => name,
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => return Err(self.error("a key is empty")),
        };
        let line = span.start.line();
        let Some(Open::Map { entries, key, .. }) = self.stack.last_mut() else {
            return Err(self.error("a key stands outside a map"));
        };
        if entries.contains_key(&name) {
            return Err(ReadError {
                line,
                document: self.documents.max(1),
                reason: format!("the key {name:?} is there twice"),
            });
        }
        *key = Some(name);
        Ok(())
    }

    fn value(&mut self, value: Value) -> Result<(), ReadError> {
        match self.stack.last_mut() {
            None => self.root = Some(value),
            Some(Open::List { values, .. }) => values.push(value),
            Some(Open::Map { entries, key, merges, .. }) => match key.take() {
                Some(name) if name == "<<" => {
                    let merged = match value {
                        Value::Object(map) => vec![map],
                        Value::Array(list) if list.iter().all(Value::is_object) => list
                            .into_iter()
                            .filter_map(|value| if let Value::Object(map) = value { Some(map) } else { None })
                            .collect(),
                        _ => return Err(self.error("what is merged with << is not a map")),
                    };
                    merges.extend(merged);
                }
                Some(name) => {
                    entries.insert(name, value);
                }
                None => return Err(self.error("a value has no key")),
            },
        }
        Ok(())
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, ReadError> {
        let forced = tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str());
        match (forced, style) {
            (Some("str" | "binary"), _) => Ok(Value::String(text.to_owned())),
            (None, ScalarStyle::Plain) | (Some(_), _) => plain(text).map_err(|reason| self.error(reason)),
            (None, _) => Ok(Value::String(text.to_owned())),
        }
    }

    fn anchor(&mut self, anchor: usize, value: &Value, size: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), size));
        }
    }

    fn count(&mut self, values: usize) -> Result<(), ReadError> {
        self.values = self.values.saturating_add(values);
        if self.values > self.limits.values {
            return Err(self.error(format!(
                "the text holds more than {} values, aliases counted each time",
                self.limits.values
            )));
        }
        Ok(())
    }
}

/// How many values a value holds, itself included. Depth is limited, so recursion is too.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

fn size(bytes: usize) -> String {
    if bytes < 1 << 20 {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", bytes.div_ceil(1 << 20))
    }
}
