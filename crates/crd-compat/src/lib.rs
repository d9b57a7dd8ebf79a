//! Judges what a change of a CustomResourceDefinition does to the objects written under it.
//!
//! The crate is pure: it reads values and returns values. Fetching definitions and objects, and printing
//! what was found, is the business of its callers.

pub mod admit;
pub mod cel;
pub mod crd;
pub mod live;
pub mod schema;
