//! The program as people use it, and clusters with something installed. Use it with `mod support;`.
#![allow(dead_code, reason = "each test program uses the part it needs")]

pub(crate) mod fleet;
pub(crate) mod person;
pub(crate) mod program;
