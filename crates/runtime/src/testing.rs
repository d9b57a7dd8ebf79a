//! Drives a reconciler in tests, against a recorded or a real API server.
