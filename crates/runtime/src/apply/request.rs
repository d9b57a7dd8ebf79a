//! Requests about single objects of any kind, with replies as the cache holds them.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, Request};
use kube::{Client, Resource};
use serde_json::Value;

use crate::cache::{Held, Meta, ObjectKey};

/// Asks and writes through one client.
#[derive(Clone)]
pub(crate) struct Requests {
    client: Client,
    manager: String,
}

/// What is written besides the object itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object.
    Main,
    /// Its status.
    Status,
}

impl Requests {
    /// Requests in the name of a field manager.
    pub(crate) fn new(client: Client, manager: &str) -> Self {
        Self { client, manager: manager.to_owned() }
    }

    /// The field manager.
    pub(crate) fn manager(&self) -> &str {
        &self.manager
    }

    /// The object as it is, with the books of its field managers.
    pub(crate) async fn get(&self, api: &ApiResource, key: &ObjectKey) -> kube::Result<Option<Value>> {
        let request = at(api, key)
            .get(&key.name, &kube::api::GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match self.client.request::<Value>(request).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn create(
        &self,
        api: &ApiResource,
        key: &ObjectKey,
        object: &Value,
    ) -> kube::Result<Held> {
        let params = PostParams { field_manager: Some(self.manager.clone()), ..PostParams::default() };
        let request = at(api, key).create(&params, bytes(object)?).map_err(kube::Error::BuildRequest)?;
        self.send(request).await
    }

    /// Server-side apply.
    pub(crate) async fn apply(
        &self,
        api: &ApiResource,
        key: &ObjectKey,
        object: &Value,
        force: bool,
    ) -> kube::Result<Held> {
        let params =
            PatchParams { force, field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        self.patch(api, key, Part::Main, &params, &Patch::Apply(object)).await
    }

    /// A merge patch that counts only for the object and the version it was made from.
    pub(crate) async fn merge(
        &self,
        api: &ApiResource,
        of: &Meta,
        part: Part,
        mut change: Value,
    ) -> kube::Result<Held> {
        change["metadata"]["uid"] = Value::from(&*of.uid);
        change["metadata"]["resourceVersion"] = Value::from(of.version.to_string());
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        self.patch(api, &of.key, part, &params, &Patch::Merge(&change)).await
    }

    /// A JSON patch, whose tests are its own.
    pub(crate) async fn json(
        &self,
        api: &ApiResource,
        key: &ObjectKey,
        change: &Value,
    ) -> kube::Result<Held> {
        let change: json_patch::Patch =
            serde_json::from_value(change.clone()).map_err(kube::Error::SerdeError)?;
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        self.patch(api, key, Part::Main, &params, &Patch::Json(change)).await
    }

    /// Deletes the object and no other of its name, if nothing happened to it since.
    pub(crate) async fn delete(&self, api: &ApiResource, of: &Meta) -> kube::Result<()> {
        let params = DeleteParams::background().preconditions(Preconditions {
            uid: Some(of.uid.to_string()),
            resource_version: Some(of.version.to_string()),
        });
        let request = at(api, &of.key).delete(&of.key.name, &params).map_err(kube::Error::BuildRequest)?;
        self.client.request::<Value>(request).await.map(drop)
    }

    async fn patch(
        &self,
        api: &ApiResource,
        key: &ObjectKey,
        part: Part,
        params: &PatchParams,
        patch: &Patch<&Value>,
    ) -> kube::Result<Held> {
        let at = at(api, key);
        let request = match part {
            Part::Main => at.patch(&key.name, params, patch),
            Part::Status => at.patch_subresource("status", &key.name, params, patch),
        };
        self.send(request.map_err(kube::Error::BuildRequest)?).await
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> kube::Result<Held> {
        let text = self.client.request_text(request).await?;
        Held::from_json(&text).map_err(kube::Error::SerdeError)
    }
}

fn at(api: &ApiResource, key: &ObjectKey) -> Request {
    Request::new(DynamicObject::url_path(api, key.namespace.as_deref()))
}

fn bytes(object: &Value) -> kube::Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(kube::Error::SerdeError)
}
