//! Helpers for authors who test their reconcilers.
//!
//! [`Drive`] takes single turns of a controller: no queue, no leader, no watch, and the same code as in a
//! running operator. It works with whatever client it is given:
//!
//! - that of a [`FakeServer`], which holds objects in memory and answers within microseconds, for tests of
//!   what a reconciler decides;
//! - that of a real API server, for tests of what becomes of it. `slipway-testkit` starts one per test.
//!
//! Each [`Turn`] tells what was sent to the API server, so that a test can say that a second look at the
//! same object writes nothing.
//!
//! ```
//! # use std::sync::Arc;
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube::api::{Api, PostParams};
//! # use kube::CustomResource;
//! # use schemars::JsonSchema;
//! # use serde::{Deserialize, Serialize};
//! # use serde_json::json;
//! use slipway_runtime::prelude::*;
//! use slipway_runtime::testing::{Drive, FakeServer};
//! # #[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { name: String }
//! # struct Greeter;
//! # impl Reconcile<Greeting> for Greeter {
//! #     async fn reconcile(&self, greeting: Arc<Greeting>, context: Context<Greeting>) -> Result<Outcome, Error> {
//! #         let text = format!("Hello, {}!", greeting.spec.name);
//! #         let map = json!({"metadata": {"name": &*context.key().name}, "data": {"text": text}});
//! #         let map: ConfigMap = serde_json::from_value(map).map_err(|error| Error::permanent(error.to_string()))?;
//! #         let mut children = Children::new();
//! #         children.add(&map)?;
//! #         context.apply(children).await?;
//! #         Ok(Outcome::done())
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let server = FakeServer::new();
//! let greetings: Api<Greeting> = Api::namespaced(server.client(), "default");
//! let world = Greeting::new("world", GreetingSpec { name: "World".into() });
//! greetings.create(&PostParams::default(), &world).await?;
//!
//! let drive = Drive::new(ControllerSpec::new(Greeter).owns::<ConfigMap>(), server.client());
//! let key = ObjectKey::namespaced("default", "world");
//! let first = drive.reconcile(&key).await?;
//! assert_eq!(first.writes().map(ToString::to_string).collect::<Vec<_>>(), ["create configmaps default/world → 201"]);
//! let second = drive.reconcile(&key).await?;
//! assert_eq!(second.writes().count(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here is for running operators.

mod drive;
mod fake_server;
mod journal;
mod objects;
mod place;
mod selector;

pub use drive::{Drive, DriveError, Turn};
pub use fake_server::FakeServer;
pub use journal::Sent;
