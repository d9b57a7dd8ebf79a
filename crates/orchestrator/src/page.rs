//! Part of a long list.

use slipway_domain::problem::Problems;

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// How many, 1 to 100.
    pub limit: u32,
    /// After how many.
    pub offset: u64,
}

impl Window {
    /// The most that is given at once.
    pub const MOST: u32 = 100;

    /// As asked for, 20 where nothing is said.
    pub fn new(limit: Option<i64>, offset: Option<i64>) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let limit = limit.unwrap_or(20);
        let offset = offset.unwrap_or(0);
        let limit = u32::try_from(limit).ok().filter(|limit| (1..=Self::MOST).contains(limit));
        let offset = u64::try_from(offset).ok().filter(|offset| i64::try_from(*offset).is_ok());
        if limit.is_none() {
            problems.add("limit", "has to be from 1 to 100");
        }
        if offset.is_none() {
            problems.add("offset", "has to be 0 or more");
        }
        problems.or(Self { limit: limit.unwrap_or(20), offset: offset.unwrap_or(0) })
    }
}

/// A part of a list, and how long the whole is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The part.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: u64,
    /// What was asked for.
    pub window: Window,
}

impl<T> Page<T> {
    /// Whether more follows.
    pub fn has_more(&self) -> bool {
        self.window.offset + (self.items.len() as u64) < self.total
    }

    /// The same part of something else.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), total: self.total, window: self.window }
    }
}
