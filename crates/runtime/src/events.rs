//! Kubernetes Events, gathered into series.
