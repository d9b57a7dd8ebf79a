//! Regular expressions that rules have used, kept for the next object.

use std::collections::HashMap;
use std::sync::Mutex;

use regex::Regex;

use crate::schema::compile_pattern;

/// Beyond this, expressions are computed from data, and keeping them gains nothing.
const CAPACITY: usize = 256;

/// Compiled expressions by their source; `Err` says why one cannot be compiled here.
#[derive(Debug, Default)]
pub(super) struct Regexes {
    compiled: Mutex<HashMap<String, Result<Regex, String>>>,
}

impl Regexes {
    pub(super) fn get(&self, source: &str) -> Result<Regex, String> {
        // A panic elsewhere while the lock was held leaves the map usable.
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = compiled.get(source) {
            return found.clone();
        }
        let fresh = compile_pattern(source);
        if compiled.len() < CAPACITY {
            compiled.insert(source.to_owned(), fresh.clone());
        }
        fresh
    }
}
