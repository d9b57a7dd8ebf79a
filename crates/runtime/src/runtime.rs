//! An operator: controllers, webhooks, leadership and servers, started and stopped together.
