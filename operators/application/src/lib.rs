//! The Application operator: a Deployment, its configuration, its Service and its disruption budget from one object.

pub mod admission;
pub mod children;
pub mod configuration;
pub mod controller;
pub mod conversion;
pub mod crd;
pub mod policy;
pub mod status;
