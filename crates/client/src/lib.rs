//! The typed client of the REST interface, used by the command line and by tests.
//!
//! [`Client::call`] makes a call of any endpoint of the table; each resource has its methods in a file of
//! its own. Errors of the server come back as they were written, so that people read one sentence. What can
//! be repeated without harm is repeated when the connection fails; a token that ends soon is renewed first,
//! where somebody told how ([`Renew`]).

mod approvals;
mod audit;
mod call;
mod client;
mod clusters;
mod crds;
mod deployments;
mod error;
mod events;
mod health;
mod identity;
mod operators;
mod retry;
mod server;
mod settings;
mod token;

pub use call::{Call, Tagged};
pub use client::{Client, ClientBuilder};
pub use error::ClientError;
pub use events::Follow;
pub use identity::RenewLogin;
pub use token::{Renew, Token};
