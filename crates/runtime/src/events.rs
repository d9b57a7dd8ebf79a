//! What happened: Kubernetes Events gathered into series, and a log in memory for the admin server.
//!
//! [`Recorder`] writes Events for people who run `kubectl describe`; it never makes a reconcile wait and
//! never fails one. [`EventLog`] keeps the last ones for `/events` and `/watch`.

mod log;
mod note;
mod query;
mod recorder;
mod series;
mod writer;

pub use log::{Change, EventLog, InvolvedObject, LoggedEvent, Record, Source, Stats, WatchEvent};
pub use note::{EventType, Note, SEVERITY_ANNOTATION, Severity};
pub use query::{EventQuery, QueryError};
pub use recorder::{Observed, Recorder, RecorderBuilder};
