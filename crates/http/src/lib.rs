//! What the REST interface and the pages share: errors, callers, limits, event streams.
//!
//! Nothing here knows a resource. A handler gets a [`Caller`], parses with [`Body`], [`Path`] and [`Query`],
//! calls one use case, and turns its error into an [`ApiError`] with `?`. What comes before a handler is in
//! [`guard`], by the endpoint's row; what every reply has, whatever answers, is in [`shell`].

pub mod address;
pub mod body;
pub mod caller;
pub mod cookie;
pub mod error;
pub mod guard;
pub mod metrics;
mod secret;
pub mod shell;
pub mod tag;
pub mod trace;

pub use body::{Body, Path, Query};
pub use caller::{Bearer, Caller};
pub use cookie::Cookies;
pub use error::ApiError;
pub use guard::Guard;
pub use secret::Secret;
pub use tag::{IfMatch, Tagged};
