//! Custom resource definitions from Rust types: versions, conversion, and installing them with judgment.
