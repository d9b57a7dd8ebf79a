//! Write Kubernetes operators in Rust: the author brings types, a `reconcile` and policies.
//!
//! An operator watches objects of a kind and keeps the cluster as they ask. What is particular about one is
//! the type, what follows from it, and which objects are refused; what is the same in all of them is here:
//! watching, queueing, trying again, writing only what differs, electing a leader, certificates, metrics,
//! ending in order.
//!
//! # A first operator
//!
//! It keeps a `ConfigMap` with a greeting for every `Greeting`. `docs/guide/write-an-operator.md` of the
//! repository goes from here to a running operator in ten minutes.
//!
#![doc = "```no_run"]
#![doc = include_str!("../examples/first_operator.rs")]
#![doc = "```"]
//!
//! # What it does for you
//!
//! | | kube-rs gives | here |
//! |---|---|---|
//! | Watching | `watcher`, `reflector` | one watch per kind for all controllers, objects held small, warm on followers; an object that does not decode is reported and stalls nothing ([`cache`]) |
//! | Queue | a scheduler in `Controller` | per-object backoff 1 to 16 s and then slowly, changes before resyncs, depth and waits as metrics ([`queue`]) |
//! | Errors | one error policy | [categories](error::Category): tried again, waited for, or left until the object changes; a missing permission is told as the RBAC rule to add |
//! | Children | `Api::patch` | owner, labels, server-side apply, drift corrected and told, what is no longer wanted pruned, no write when nothing differs ([`apply`]) |
//! | Status | `Api::patch_status` | written when it says something new, with `observedGeneration` and transition times ([`conditions`]) |
//! | Deletion | a finalizer helper | [`cleanup`](controller::Reconcile::cleanup), asked again until it succeeds |
//! | Leadership | | Lease election, writes fenced by it, hand-over between versions ([`leader`], [`client`]) |
//! | Admission | the review types | typed validators, mutators and conversions on a TLS server whose certificates renew themselves ([`webhook`]) |
//! | CRDs | a derive | several versions in one definition, YAML for charts, installed only if nothing breaks ([`crd`]) |
//! | Operating | | probes, Prometheus metrics, Events in series ([`admin`], [`metrics`], [`events`]) |
//! | Configuration | | flags, environment and file with reload ([`settings`]), logs and traces ([`telemetry`]) |
//! | Tests | | single turns against a stand-in or a real API server ([`testing`]) |
//!
//! # Permissions
//!
//! An operator needs, where it looks (a `ClusterRole`, or a `Role` in each of its namespaces):
//!
//! | For | apiGroups | resources | verbs |
//! |---|---|---|---|
//! | its kind | its group | its plural | get, list, watch; patch with a finalizer |
//! | the status | its group | its plural with `/status` | patch |
//! | to own where `OwnerReferencesPermissionEnforcement` is on | its group | its plural with `/finalizers` | update |
//! | each kind that it owns | the kind's | the kind's | get, list, watch, create, patch, delete |
//! | each kind that it only watches | the kind's | the kind's | list, watch |
//! | Events | `events.k8s.io` | `events` | create, patch |
//!
//! and in its own namespace, or where its settings say:
//!
//! | For | apiGroups | resources | verbs |
//! |---|---|---|---|
//! | leader election | `coordination.k8s.io` | `leases` | create; get, list, watch, update on its Lease |
//! | certificates of its own | core | `secrets` | create; get, update on its Secret |
//! | keeping the CA bundle (`ClusterRole`) | `admissionregistration.k8s.io` | `validatingwebhookconfigurations`, `mutatingwebhookconfigurations` | get, list, watch, patch on its own |
//! | the same for conversion, and installing its CRD (`ClusterRole`) | `apiextensions.k8s.io` | `customresourcedefinitions` | get, list, watch, patch; create to install |
//! | `/events` and `/watch` (`ClusterRole`) | `authentication.k8s.io`, `authorization.k8s.io` | `tokenreviews`, `subjectaccessreviews` | create |
//!
//! What is missing is logged and shown on the object as the rule to add; the rest goes on.

pub mod admin;
pub mod apply;
pub mod cache;
pub mod client;
pub mod conditions;
pub mod controller;
pub mod crd;
pub mod error;
pub mod events;
#[cfg(doctest)]
mod guides;
pub mod leader;
pub mod metrics;
pub mod prelude;
pub mod queue;
pub mod runtime;
pub mod settings;
pub mod testing;
pub mod webhook;

pub use slipway_telemetry as telemetry;
