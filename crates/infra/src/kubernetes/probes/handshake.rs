//! The certificate that a webhook shows: a handshake with one of its pods, through the API server.
//!
//! Nothing is sent and nothing is believed here, so whoever shows the certificate need not be trusted;
//! whether the API server trusts it is what the dry run tells.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Api;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde::Deserialize;
use slipway_domain::health::CertificateSeen;
use tokio_rustls::TlsConnector;

use super::authority;
use super::call::{Call, quoted};

/// Looking at a certificate is a courtesy; it must not hold up the rest.
const LONGEST: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
struct Pods {
    items: Vec<Pod>,
}

/// The certificate that a pod behind a service shows; nothing if none can be reached.
pub(super) async fn certificate(
    call: &Call,
    namespace: &str,
    service: &str,
    port: i32,
) -> Option<CertificateSeen> {
    let longest = call.left().min(LONGEST);
    tokio::time::timeout(longest, shown(call, namespace, service, port)).await.ok().flatten()
}

async fn shown(call: &Call, namespace: &str, service: &str, port: i32) -> Option<CertificateSeen> {
    let found: Service =
        call.get(&format!("/api/v1/namespaces/{namespace}/services/{service}")).await.ok()?;
    let spec = found.spec?;
    let target = spec.ports?.into_iter().find(|known| known.port == port)?;
    let target = target.target_port.unwrap_or(IntOrString::Int(port));
    let selector: BTreeMap<String, String> = spec.selector?;
    let selector: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={}", quoted(&selector.join(",")));
    let pods: Pods = call.get(&path).await.ok()?;
    let pod = pods.items.into_iter().find(is_ready)?;
    let port = container_port(&pod, &target)?;
    let api = Api::<Pod>::namespaced(call.client().clone(), namespace);
    let mut forwarder = api.portforward(pod.metadata.name.as_deref()?, &[port]).await.ok()?;
    let stream = forwarder.take_stream(port)?;
    let name = ServerName::try_from(format!("{service}.{namespace}.svc")).ok()?;
    let stream = TlsConnector::from(Arc::new(config()?)).connect(name, stream).await.ok()?;
    let (_, session) = stream.get_ref();
    let first = session.peer_certificates()?.first()?;
    authority::seen(first, "its certificate")
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    pod.metadata.deletion_timestamp.is_none()
        && conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn container_port(pod: &Pod, target: &IntOrString) -> Option<u16> {
    match target {
        IntOrString::Int(port) => u16::try_from(*port).ok(),
        IntOrString::String(name) => {
            let containers = pod.spec.as_ref()?.containers.iter();
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            let port = ports.find(|port| port.name.as_ref() == Some(name))?;
            u16::try_from(port.container_port).ok()
        }
    }
}

fn config() -> Option<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    let config = builder.dangerous().with_custom_certificate_verifier(Arc::new(Onlooker { schemes }));
    Some(config.with_no_client_auth())
}

/// Looks at certificates and believes nothing of them.
#[derive(Debug)]
struct Onlooker {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Onlooker {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
