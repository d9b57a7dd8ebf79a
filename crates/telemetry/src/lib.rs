//! Logs, traces and metrics, set up the same way in every server and operator.
//!
//! [`init`] is called once, first thing in `main`; the [`Guard`] it gives changes the filter while
//! the program runs and sends what is left at the end. [`exposition`] writes a metrics registry as
//! Prometheus reads it, [`process`] adds what the kernel knows of this process.
//!
//! Nothing here decides what is measured or logged, and no failure here stops a program that works.

pub mod exposition;
pub mod filter;
mod json;
mod logging;
mod otlp;
pub mod process;

pub use logging::{FilterHandle, Format, Guard, Logging, Output, TelemetryError, init};
