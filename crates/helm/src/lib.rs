//! The helm program, 3 and 4, as a library: run, guard, parse.
//!
//! Every run is under the guardian with a hard deadline, in a private home that goes away with it, with an
//! environment of its own: nothing of the user's helm is read or changed. What is secret goes through files
//! that only this user can read, never through arguments. What helm says is turned into sentences.
//!
//! It decides nothing: which release, which values and when are its callers' business.

mod archive;
mod change;
mod error;
mod generated;
mod home;
mod live;
mod output;
mod program;
mod release;
mod run;
mod template;

pub use archive::file_of;
pub use change::{Uninstall, Upgrade};
pub use error::HelmError;
pub use generated::Generated;
pub use live::{Capabilities, Live, LiveTemplate, Moving};
pub use program::{Helm, Major};
pub use release::{Kubeconfig, ReleaseSummary, Revision, Scope};
pub use template::Template;
