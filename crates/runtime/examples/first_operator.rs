//! Keeps a greeting for whoever is to be greeted.

use std::sync::Arc;

use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::api::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_runtime::prelude::*;

/// What somebody asks for.
#[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
#[kube(printcolumn(name = "Text", type_ = "string", json_path = ".status.text"))]
pub struct GreetingSpec {
    /// Who is greeted.
    #[schemars(length(min = 1, max = 40))]
    pub name: String,
}

/// What came of it.
#[derive(JsonSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GreetingStatus {
    /// The generation that this is about; the runtime sets it.
    pub observed_generation: Option<i64>,
    /// The greeting.
    pub text: Option<String>,
    /// Whether it is there.
    pub conditions: Vec<Condition>,
}

struct Greeter;

impl Reconcile<Greeting> for Greeter {
    async fn reconcile(&self, greeting: Arc<Greeting>, context: Context<Greeting>) -> Result<Outcome, Error> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let map = ConfigMap {
            metadata: ObjectMeta { name: Some(context.key().name.to_string()), ..ObjectMeta::default() },
            data: Some([("text".to_owned(), text.clone())].into()),
            ..ConfigMap::default()
        };
        let mut children = Children::new();
        children.add(&map)?;
        context.apply(children).await?;

        let ready = Condition::holds(READY, "Greeted", "the ConfigMap has the greeting");
        Outcome::done().status(&GreetingStatus {
            text: Some(text),
            conditions: vec![ready],
            ..GreetingStatus::default()
        })
    }
}

/// Keeps a greeting for whoever is to be greeted.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let settings = Settings::load::<()>(&arguments.flags, None, &process_environment)?.settings;
    let telemetry = telemetry::init(&settings.logging("greeter", env!("CARGO_PKG_VERSION")))?;
    Runtime::builder("greeter")
        .settings(settings)
        .crd(MultiVersion::stored::<Greeting>().build()?)
        .controller(ControllerSpec::new(Greeter).owns::<ConfigMap>())
        .run()
        .await?;
    telemetry.shutdown();
    Ok(())
}
