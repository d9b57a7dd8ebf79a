//! Brings children to what they should be: creates, applies, prunes, and writes nothing when nothing differs.
//!
//! A child is created by `POST`, which cannot overwrite what somebody else made in between, and changed by
//! server-side apply with the version it was judged on: a process that was frozen and wakes after another
//! took over can therefore lose or revert nothing. Each child carries a note of what was last wanted
//! ([`APPLIED`]); when the note is the same and the live object still says everything that is wanted, there
//! is nothing to write.

mod applier;
mod children;
mod compare;
mod managers;
mod note;
mod request;

pub use applier::{Applied, Applier, Correction, Parent};
pub use children::{Child, Children};
pub use compare::{Difference, differences};
pub(crate) use request::{Part, Requests};

/// The annotation that says what was last wanted of a child.
pub const APPLIED: &str = "slipway.dev/applied";
