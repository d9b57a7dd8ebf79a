//! The Application operator: a Deployment, its configuration, its Service and its disruption budget from one object.
