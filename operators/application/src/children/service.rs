//! The Service that reaches the pods.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::config::metadata;
use super::labels;
use super::names::Names;
use crate::crd::Application;

/// The name of the port, on pods and on the Service.
pub(super) const PORT_NAME: &str = "http";

/// It names the pods' port instead of numbering it: while a change of the port rolls out, old pods are
/// reached on the old one.
pub(super) fn service(app: &Application, names: &Names) -> Service {
    Service {
        metadata: metadata(app, names, &names.service),
        spec: Some(ServiceSpec {
            selector: Some(labels::of(names)),
            ports: Some(vec![ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port: 80,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
