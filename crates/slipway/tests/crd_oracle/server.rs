//! An API server that is asked what it does with definitions and objects.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use slipway_testkit::{ControlPlane, until};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// What the API server answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether the object was looked at and refused.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == 400 || self.code == 422
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// An API server of the test's own.
pub(crate) struct Server {
    client: Client,
    _plane: ControlPlane,
}

impl Server {
    pub(crate) async fn start() -> Server {
        let plane = ControlPlane::start().await.unwrap();
        Server { client: plane.client().await.unwrap(), _plane: plane }
    }

    async fn send(&self, method: Method, path: &str, headers: [&str; 2], body: Option<&Value>) -> Answer {
        let [accept, content] = headers;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", accept)
            .header("content-type", content)
            .body(Body::from(body.map(Value::to_string).unwrap_or_default().into_bytes()))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&bytes)}));
        Answer { code, body }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        self.send(method, path, ["application/json"; 2], body).await
    }

    pub(crate) async fn merge(&self, path: &str, change: &Value) -> Answer {
        let headers = ["application/json", "application/merge-patch+json"];
        self.send(Method::PATCH, path, headers, Some(change)).await
    }

    /// Puts a definition into force, new or in place of the one that has its name, and waits until every
    /// served version goes by it; or says why the API server does not take it.
    ///
    /// A printer column named by `mark` goes with it: the server changes columns and schema at once, so
    /// whoever sees the column knows that the schema is in force.
    pub(crate) async fn define(&self, crd: &Value, mark: &str) -> Result<(), String> {
        let mut crd = crd.clone();
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            let column = json!({"name": mark, "type": "string", "jsonPath": ".metadata.uid"});
            match &mut version["additionalPrinterColumns"] {
                Value::Array(columns) => columns.push(column),
                none => *none = json!([column]),
            }
        }
        let path = format!("{DEFINITIONS}/{}", crd["metadata"]["name"].as_str().unwrap());
        loop {
            let now = self.ask(Method::GET, &path, None).await;
            let answer = if now.code == 404 {
                self.ask(Method::POST, DEFINITIONS, Some(&crd)).await
            } else {
                crd["metadata"]["resourceVersion"] = now.body["metadata"]["resourceVersion"].clone();
                self.ask(Method::PUT, &path, Some(&crd)).await
            };
            match answer.code {
                200 | 201 => break,
                // The controllers of the server wrote its status in between.
                409 => {}
                _ => return Err(answer.message().to_owned()),
            }
        }
        for version in crd["spec"]["versions"].as_array().unwrap() {
            if version["served"] == json!(true) {
                let list = collection(&crd, version["name"].as_str().unwrap(), "default");
                until(&format!("{mark} of {path}"), Duration::from_mins(2), async || {
                    self.has_column(&list, mark).await.then_some(())
                })
                .await
                .unwrap();
            }
        }
        Ok(())
    }

    async fn has_column(&self, list: &str, mark: &str) -> bool {
        let headers = [TABLE, "application/json"];
        let answer = self.send(Method::GET, &format!("{list}?limit=1"), headers, None).await;
        let columns = answer.body["columnDefinitions"].as_array();
        columns.is_some_and(|columns| columns.iter().any(|column| column["name"] == mark))
    }

    /// Takes a definition away, and all its objects.
    pub(crate) async fn forget(&self, crd: &Value) {
        let path = format!("{DEFINITIONS}/{}", crd["metadata"]["name"].as_str().unwrap());
        self.ask(Method::DELETE, &path, None).await;
        until("the definition to go", Duration::from_mins(2), async || {
            (self.ask(Method::GET, &path, None).await.code == 404).then_some(())
        })
        .await
        .unwrap();
    }
}

/// Where objects of a version live.
pub(crate) fn collection(crd: &Value, version: &str, namespace: &str) -> String {
    let spec = &crd["spec"];
    let (group, plural) = (spec["group"].as_str().unwrap(), spec["names"]["plural"].as_str().unwrap());
    if spec["scope"] == "Namespaced" {
        format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
    } else {
        format!("/apis/{group}/{version}/{plural}")
    }
}

/// The same definition in a group of its own, so that many of its kind can be in force.
pub(crate) fn in_group(crd: &Value, group: &str) -> Value {
    let mut crd = crd.clone();
    crd["metadata"]["name"] = json!(format!("{}.{group}", crd["spec"]["names"]["plural"].as_str().unwrap()));
    crd["spec"]["group"] = json!(group);
    crd
}
