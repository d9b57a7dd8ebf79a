//! Which values one schema allows and another does not: the arithmetic behind every verdict.
//!
//! Each question has one of three answers, and only proofs count: a value, the certainty that there is
//! none, or an honest "cannot tell".

pub(crate) mod number;
pub(crate) mod text;

/// The answer to "is there a value that …".
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Search<T> {
    /// There is, for example this one.
    Found(T),
    /// There is none.
    Impossible,
    /// It would take too long to tell.
    Unknown,
}

impl<T> Search<T> {
    pub(crate) fn found(self) -> Option<T> {
        match self {
            Search::Found(value) => Some(value),
            Search::Impossible | Search::Unknown => None,
        }
    }
}
