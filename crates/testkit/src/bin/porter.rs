//! A small operator for images of tests, as careless as operators are: it elects no leader, makes its definition
//! itself when it starts, and writes a Deployment and a Secret for each parcel, over and over.
//!
//! `PORTER_GROUP` is the group of its parcels, `PORTER_VERSION` what it signs with. What it writes bears the
//! versions of all that ever wrote it, in order, so that two at once can be told. With `PORTER_CRASH` it ends at
//! once, as a broken program would.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The annotation with the versions that wrote an object.
const WRITERS: &str = "porter.example.com/writers";

/// How often all parcels are looked at.
const PAUSE: Duration = Duration::from_millis(300);

struct Porter {
    client: Client,
    group: String,
    version: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    slipway_testkit::init();
    if env::var_os("PORTER_CRASH").is_some() {
        eprintln!("porter: crashing, as told");
        return ExitCode::from(7);
    }
    let Err(error) = run().await;
    eprintln!("porter: {error:#}");
    ExitCode::FAILURE
}

async fn run() -> Result<std::convert::Infallible> {
    let porter = Porter {
        client: Client::try_default().await.context("finding the cluster")?,
        group: env::var("PORTER_GROUP").context("PORTER_GROUP")?,
        version: env::var("PORTER_VERSION").context("PORTER_VERSION")?,
    };
    porter.define().await.context("making the definition")?;
    loop {
        if let Err(error) = porter.round().await {
            eprintln!("porter: {error:#}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Porter {
    async fn define(&self) -> Result<()> {
        let name = format!("parcels.{}", self.group);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": self.group, "scope": "Namespaced",
                "names": {"plural": "parcels", "singular": "parcel", "kind": "Parcel", "listKind": "ParcelList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"to": {"type": "string"}}}},
                }}}],
            },
        });
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        api.patch(&name, &PatchParams::apply("porter").force(), &Patch::Apply(&definition)).await?;
        Ok(())
    }

    async fn round(&self) -> Result<()> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&self.group, "v1", "Parcel"));
        let parcels = Api::<DynamicObject>::all_with(self.client.clone(), &kind);
        for parcel in parcels.list(&ListParams::default()).await.context("listing parcels")? {
            let (namespace, name) =
                (parcel.namespace().unwrap_or_default(), format!("parcel-{}", parcel.name_any()));
            self.write::<Secret>(&namespace, &name, json!({"stringData": {"to": parcel.data["spec"]["to"]}}))
                .await?;
            let labels = json!({"app": name});
            let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.test/parcel"}]}}});
            self.write::<Deployment>(&namespace, &name, json!({"spec": spec})).await?;
        }
        Ok(())
    }

    /// Makes an object, or signs it where another one wrote it last.
    async fn write<K>(&self, namespace: &str, name: &str, mut content: Value) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
        K::DynamicType: Default,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let Some(mut live) = api.get_opt(name).await? else {
            content["metadata"] = json!({"name": name, "annotations": {WRITERS: self.version}});
            api.create(&PostParams::default(), &serde_json::from_value(content)?).await?;
            return Ok(());
        };
        let writers = live.annotations().get(WRITERS).cloned().unwrap_or_default();
        if writers.rsplit(',').next() != Some(&self.version) {
            live.annotations_mut().insert(WRITERS.to_owned(), format!("{writers},{}", self.version));
            // The version that was read comes along, so a write of another in between is not undone.
            api.replace(name, &PostParams::default(), &live).await?;
        }
        Ok(())
    }
}
