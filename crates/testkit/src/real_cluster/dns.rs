//! The DNS of a real cluster: CoreDNS as a Deployment behind the Service that pods ask.

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slipway_programs::Program;

use crate::image::Image;

/// The domain of a cluster's names.
pub(super) const DOMAIN: &str = "cluster.local";
/// Where pods ask.
pub(super) const ADDRESS: &str = "10.96.0.10";

const IMAGE: &str = "localhost/slipway/coredns:1";
const NAMESPACE: &str = "kube-system";

/// Without a cache, so that a name that was asked for too early is found as soon as it is there.
const COREFILE: &str = ".:53 {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 0
    }
    loadbalance
}
";

pub(super) fn image() -> anyhow::Result<Image> {
    Ok(Image::builder(IMAGE)
        .program(Program::CoreDns.find()?)?
        .file("/etc/coredns/Corefile", COREFILE)
        .entrypoint(["/usr/local/bin/coredns", "-conf", "/etc/coredns/Corefile"])
        // Port 53 is root's.
        .user("0:0")
        .build())
}

/// Creates its objects. They become ready once the node is.
pub(super) async fn install(client: &Client) -> anyhow::Result<()> {
    let metadata = json!({"name": "coredns"});
    let account: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    create(&account, json!({"metadata": metadata})).await?;
    let role: Api<ClusterRole> = Api::all(client.clone());
    let lists = ["endpoints", "services", "pods", "namespaces"];
    create(
        &role,
        json!({"metadata": metadata, "rules": [
            {"apiGroups": [""], "resources": lists, "verbs": ["list", "watch"]},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        ]}),
    )
    .await?;
    let binding: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(
        &binding,
        json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "coredns"},
            "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": NAMESPACE}],
        }),
    )
    .await?;
    let labels = json!({"k8s-app": "kube-dns"});
    let service: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    create(
        &service,
        json!({"metadata": {"name": "kube-dns", "labels": labels}, "spec": {
            "clusterIP": ADDRESS,
            "selector": labels,
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP"},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
            ],
        }}),
    )
    .await?;
    let deployment: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    create(
        &deployment,
        json!({"metadata": {"name": "coredns", "labels": labels}, "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "coredns",
                    "priorityClassName": "system-cluster-critical",
                    // Its own resolver would be itself.
                    "dnsPolicy": "Default",
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{
                        "name": "coredns",
                        "image": IMAGE,
                        "readinessProbe": {
                            "httpGet": {"path": "/ready", "port": 8181},
                            "periodSeconds": 1,
                        },
                    }],
                },
            },
        }}),
    )
    .await
}

/// Whether DNS answers.
pub(super) async fn is_ready(client: &Client) -> bool {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let coredns = deployments.get("coredns").await;
    coredns.is_ok_and(|found| found.status.and_then(|status| status.available_replicas) == Some(1))
}

async fn create<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    K::DynamicType: Default,
{
    let kind = K::kind(&K::DynamicType::default()).into_owned();
    let object = serde_json::from_value(object).with_context(|| format!("describing the {kind} of DNS"))?;
    api.create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("creating the {kind} of DNS"))?;
    Ok(())
}
