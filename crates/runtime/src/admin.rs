//! The server for probes, metrics and people: health, readiness, leadership, queues, events.
