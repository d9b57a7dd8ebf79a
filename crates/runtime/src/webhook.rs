//! Admission and conversion webhooks, with certificates that renew themselves.
