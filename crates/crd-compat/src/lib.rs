//! Judges what a change of a CRD does to the objects written under it, and to whoever reads and writes them.
//!
//! [`compare`] takes two definitions and returns a [`report::Report`]: every difference with a severity,
//! whom it hits, and a remedy; for what breaks, an object that the old definition takes and keeps whole and
//! the new one does not; and whether one can go back. [`live`] asks the same of objects that exist.
//!
//! The comparison is semantic. Differences that allow the same values are no differences, and a stricter
//! keyword breaks nothing unless there is a value it refuses. What cannot be judged is said to be risky,
//! never passed over.
//!
//! The crate is pure: it reads values and returns values. Fetching definitions and objects, and printing
//! what was found, is the business of its callers.

pub mod admit;
pub mod cel;
mod compare;
pub mod crd;
mod domain;
pub mod finding;
pub mod generate;
pub mod live;
mod node;
pub mod options;
mod path;
pub mod policy;
pub mod report;
pub mod rollback;
pub mod rules;
pub mod schema;
mod witness;

pub use compare::{compare, compare_sets};
