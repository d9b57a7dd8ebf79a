//! The Application operator: a Deployment, its configuration, its Service and its disruption budget from one object.

pub mod children;
pub mod conversion;
pub mod crd;
pub mod policy;
