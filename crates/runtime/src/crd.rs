//! Custom resource definitions from Rust types: versions, conversion, and installing them with judgment.
//!
//! [`MultiVersion`] makes one definition of the types that `kube`'s derive describes, and mends what the
//! derive gets wrong for an API server. [`Crdgen`] writes definitions as YAML, for a chart. [`install`]
//! brings one into a cluster, and refuses a change that breaks what is there unless told to.
//!
//! Nothing here deletes a definition: with it would go every object of it.

mod check;
mod conversion;
mod generate;
mod install;
mod schema;
mod versions;
mod yaml;

pub use check::{Problem, check};
pub use conversion::{Conversion, WebhookClient};
pub use generate::{Crdgen, CrdgenError};
pub use install::{InstallError, Installed, Installer, Judgment, Policy, install};
pub use schema::mend;
pub use versions::{BuildError, MultiVersion};
pub use yaml::print_yaml;
