//! The cluster that an operator is measured on: fresh, with kwok nodes, and with an audit log of the
//! operator's requests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_testkit::certificates::Authority;
use slipway_testkit::{ControlPlane, Scratch, scratch, until};

use super::audit::AuditLog;
use super::load;

/// Where the Applications are.
pub(super) const NAMESPACE: &str = "bench";
/// Where the operator's account and its Lease are.
pub(super) const LEASE_NAMESPACE: &str = "bench-system";
const ACCOUNT: &str = "operator";
const NODES: u32 = 10;
const DEFINITION: &str = include_str!("../../../../../bench/controller-runtime/crd.yaml");

/// A fresh cluster for one operator.
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) audit: AuditLog,
    pub(super) authority: Authority,
    plane: ControlPlane,
    files: Scratch,
}

impl Cluster {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let files = scratch("bench-operator")?;
        let policy = files.path().join("audit-policy.json");
        fs::write(&policy, audit_policy().to_string())?;
        let audit = AuditLog::new(files.path().join("audit.log"));
        let plane = ControlPlane::builder()
            .nodes(NODES)
            .own_etcd()
            .api_server_argument(&format!("--audit-policy-file={}", policy.display()))
            .api_server_argument(&format!("--audit-log-path={}", audit.path().display()))
            // Rotated, part of it would be gone before it is counted.
            .api_server_argument("--audit-log-maxsize=16384")
            .start()
            .await?;
        let client = plane.client().await?;
        let authority = Authority::new("bench")?;
        let cluster = Self { client, audit, authority, plane, files };
        cluster.prepare().await?;
        Ok(cluster)
    }

    /// The kubeconfig of the operator's own account.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.files.path().join("kubeconfig")
    }

    /// The directory with the webhooks' certificate.
    pub(super) fn certificates(&self) -> &Path {
        self.files.path()
    }

    pub(super) async fn version(&self) -> anyhow::Result<String> {
        Ok(self.client.apiserver_version().await.context("asking for the version")?.git_version)
    }

    async fn prepare(&self) -> anyhow::Result<()> {
        for name in [NAMESPACE, LEASE_NAMESPACE] {
            self.create::<Namespace>(None, json!({"metadata": {"name": name}})).await?;
        }
        self.create::<ServiceAccount>(Some(LEASE_NAMESPACE), json!({"metadata": {"name": ACCOUNT}})).await?;
        self.create::<ClusterRoleBinding>(
            None,
            json!({
                "metadata": {"name": "bench-operator"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": LEASE_NAMESPACE}],
            }),
        )
        .await?;
        fs::write(self.kubeconfig(), self.account_kubeconfig().await?)?;
        let names = ["127.0.0.1", "localhost"];
        self.authority.server("webhooks", &names)?.write(self.certificates(), "tls")?;
        fs::write(self.certificates().join("ca.crt"), self.authority.certificate())?;
        let definition: Value = serde_saphyr::from_str(DEFINITION).context("reading crd.yaml")?;
        self.create::<CustomResourceDefinition>(None, definition).await?;
        let applications = load::api(&self.client);
        until("the Application kind to be served", Duration::from_secs(30), async || {
            applications.list(&kube::api::ListParams::default().limit(1)).await.ok()
        })
        .await?;
        Ok(())
    }

    /// The administrator's kubeconfig, with the account's token instead of the administrator's certificate.
    async fn account_kubeconfig(&self) -> anyhow::Result<String> {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86_400, "audiences": []},
        });
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), LEASE_NAMESPACE);
        let answer: Value = accounts
            .create_subresource("token", ACCOUNT, &PostParams::default(), &request)
            .await
            .context("asking for a token")?;
        let token = answer["status"]["token"].as_str().context("the answer has no token")?;
        let mut config: Value = serde_json::from_str(self.plane.kubeconfig())?;
        config["users"][0]["user"] = json!({ "token": token });
        Ok(config.to_string())
    }

    /// Has the API server ask the operator about every Application that is written, and waits until it does.
    pub(super) async fn install_webhooks(&self, [validate, mutate]: [String; 2]) -> anyhow::Result<()> {
        let webhook = |name: &str, url: String| {
            json!({
                "name": name,
                "clientConfig": {"url": url, "caBundle": ByteString(self.authority.certificate().into())},
                "rules": [{
                    "apiGroups": ["cloudnative.elide.dev"], "apiVersions": ["v1"], "resources": ["applications"],
                    "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
                }],
                "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                "timeoutSeconds": 10,
            })
        };
        self.create::<MutatingWebhookConfiguration>(
            None,
            json!({"metadata": {"name": "bench"}, "webhooks": [webhook("default.elide.dev", mutate)]}),
        )
        .await?;
        self.create::<ValidatingWebhookConfiguration>(
            None,
            json!({"metadata": {"name": "bench"}, "webhooks": [webhook("validate.elide.dev", validate)]}),
        )
        .await?;
        let applications = load::api(&self.client);
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let allowed = load::application("allowed", 1)?;
        let mut blocked = load::application("blocked", 1)?;
        blocked.data["spec"]["image"] = json!("docker.io/library/alpine:3");
        until("both webhooks to be asked", Duration::from_secs(30), async || {
            let denied = applications.create(&dry_run, &blocked).await.is_err();
            let defaulted: DynamicObject = applications.create(&dry_run, &allowed).await.ok()?;
            let label = defaulted.metadata.labels?.contains_key("app.kubernetes.io/managed-by");
            (denied && label).then_some(())
        })
        .await
    }

    async fn create<K>(&self, namespace: Option<&str>, object: Value) -> anyhow::Result<()>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        let mut object = object;
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let resource = kube::api::ApiResource::erase::<K>(&());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        api.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await
            .with_context(|| format!("creating a {}", K::kind(&())))?;
        Ok(())
    }
}

/// Only what the operator's account asks for, without bodies, once it is answered.
fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [
            {"level": "Metadata", "users": [format!("system:serviceaccount:{LEASE_NAMESPACE}:{ACCOUNT}")]},
            {"level": "None"},
        ],
    })
}
