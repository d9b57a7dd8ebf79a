//! Values an expression computes with.
//!
//! Objects and lists of the resource are not copied: they are views of the JSON together with the schema
//! that gives its parts their types.

use std::net::IpAddr;
use std::rc::Rc;

use jiff::Timestamp;

use super::data::{DataList, DataMap};
use super::library::quantity::Quantity;
use super::library::semver::Semver;
use crate::admit::format::Uri;

/// The result of evaluating something.
pub(super) type Eval<T> = Result<T, EvalError>;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EvalError {
    /// The API server runs into this error too, and refuses the object.
    Failed(String),
    /// The expression uses something that is not evaluated here.
    Unsupported(String),
    /// Evaluation was given up; the API server may have a different limit.
    TooCostly,
}

impl EvalError {
    pub(super) fn failed<T>(message: impl Into<String>) -> Eval<T> {
        Err(EvalError::Failed(message.into()))
    }

    pub(super) fn no_such_overload<T>() -> Eval<T> {
        EvalError::failed("no such overload")
    }

    /// Of two errors, the one that says less about what the API server does.
    pub(super) fn or(self, other: EvalError) -> EvalError {
        match (&self, &other) {
            (EvalError::Failed(_), EvalError::Unsupported(_) | EvalError::TooCostly)
            | (EvalError::Unsupported(_), EvalError::TooCostly) => other,
            _ => self,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Timestamp(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    Type(&'static str),
    Optional(Option<Rc<Val<'a>>>),
    /// Data the schema says nothing about; it can only be compared.
    Preserved(&'a serde_json::Value),
    Url(Rc<Uri>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Quantity(Quantity),
    Semver(Rc<Semver>),
    /// A named string format.
    Format(&'static str),
}

impl<'a> Val<'a> {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Val<'a> {
        Val::Text(text.into())
    }

    pub(super) fn list(items: Vec<Val<'a>>) -> Val<'a> {
        Val::List(List { items: Items::Owned(items.into()), kind: ListKind::Plain })
    }

    pub(super) fn some(value: Val<'a>) -> Val<'a> {
        Val::Optional(Some(Rc::new(value)))
    }

    pub(super) fn size(size: usize) -> Val<'a> {
        Val::Int(i64::try_from(size).unwrap_or(i64::MAX))
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Type(_) => "type",
            Val::Optional(_) => "optional_type",
            Val::Preserved(_) => "unknown",
            Val::Url(_) => "kubernetes.URL",
            Val::Ip(_) => "net.IP",
            Val::Cidr(..) => "net.CIDR",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// Whether the value is the zero of its type, which `optional.ofNonZeroValue` takes for none.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Val::Null | Val::Optional(None) => true,
            Val::Bool(value) => !value,
            Val::Int(value) | Val::Duration(value) => *value == 0,
            Val::Uint(value) => *value == 0,
            Val::Double(value) => *value == 0.0,
            Val::Text(value) => value.is_empty(),
            Val::Bytes(value) => value.is_empty(),
            Val::List(list) => list.len() == 0,
            Val::Map(map) => map.len() == 0,
            _ => false,
        }
    }
}

/// A list, either part of the resource or computed.
#[derive(Debug, Clone)]
pub(super) struct List<'a> {
    pub(super) items: Items<'a>,
    pub(super) kind: ListKind<'a>,
}

#[derive(Debug, Clone)]
pub(super) enum Items<'a> {
    Data(DataList<'a>),
    Owned(Rc<[Val<'a>]>),
}

/// What the schema declares a list to be; it decides on equality and concatenation.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListKind<'a> {
    Plain,
    Set,
    Map(&'a [String]),
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match &self.items {
            Items::Data(data) => data.items.len(),
            Items::Owned(items) => items.len(),
        }
    }

    /// The item at an index within bounds.
    pub(super) fn get(&self, index: usize) -> Eval<Val<'a>> {
        let item = match &self.items {
            Items::Data(data) => data.get(index),
            Items::Owned(items) => items.get(index).cloned().map(Ok),
        };
        item.unwrap_or_else(|| EvalError::failed(format!("index out of bounds: {index}")))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Eval<Val<'a>>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(super) fn to_vec(&self) -> Eval<Vec<Val<'a>>> {
        self.iter().collect()
    }
}

/// A map, either part of the resource or computed.
#[derive(Debug, Clone)]
pub(super) enum Map<'a> {
    Data(DataMap<'a>),
    Owned(Rc<[(Val<'a>, Val<'a>)]>),
}

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Map::Data(data) => data.map.len(),
            Map::Owned(entries) => entries.len(),
        }
    }

    /// The value behind a key, where there is one.
    pub(super) fn find(&self, key: &Val<'a>) -> Eval<Option<Val<'a>>> {
        match self {
            Map::Data(data) => match key {
                Val::Text(key) => data.find(key),
                _ => EvalError::no_such_overload(),
            },
            Map::Owned(entries) => {
                for (candidate, value) in entries.iter() {
                    if super::operator::equal(candidate, key)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
        }
    }

    pub(super) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Map::Data(data) => data.keys().map(Val::text).collect(),
            Map::Owned(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
        }
    }
}
