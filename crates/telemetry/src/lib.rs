//! Logs, traces and metrics, set up the same way in every server and operator.
