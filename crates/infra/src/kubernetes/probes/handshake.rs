//! What is behind a webhook's Service: whether anybody can be reached through it, and the certificate shown.
//!
//! An API server keeps its connections, so a dry run through it may be answered over one that nobody could make
//! any more: by a pod that the Service led to before. Here the way is walked anew: Service, endpoints, pod, and
//! a handshake with it through the API server. Nothing is sent over it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Api;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::Deserialize;
use slipway_domain::health::CertificateSeen;
use tokio_rustls::TlsConnector;

use super::authority;
use super::call::{Call, quoted};

/// A handshake is a courtesy; it must not hold up the rest.
const LONGEST: Duration = Duration::from_secs(3);

/// What was found behind a Service.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Behind {
    /// The certificate that one of its pods shows, where one could be reached.
    pub(super) certificate: Option<CertificateSeen>,
    /// Why nobody can be called through it, where that is certain.
    pub(super) broken: Option<String>,
}

impl Behind {
    fn broken(why: String) -> Self {
        Self { certificate: None, broken: Some(why) }
    }
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

/// Looks behind a Service; `authorities` are those that whoever calls it believes, PEM.
pub(super) async fn behind(
    call: &Call,
    namespace: &str,
    service: &str,
    port: i32,
    authorities: &[u8],
) -> Behind {
    let place = format!("{namespace}/{service}");
    let found = match call.get::<Service>(&format!("/api/v1/namespaces/{namespace}/services/{service}")).await
    {
        Ok(found) => found,
        Err(fault) if fault.is_absence() => return Behind::broken(format!("there is no Service {place}")),
        Err(_) => return Behind::default(),
    };
    let spec = found.spec.unwrap_or_default();
    if spec.type_.as_deref() == Some("ExternalName") {
        return Behind::default();
    }
    let Some(target) = spec.ports.unwrap_or_default().into_iter().find(|known| known.port == port) else {
        return Behind::broken(format!("the Service {place} has no port {port}"));
    };
    let nobody =
        || Behind::broken(format!("no pod that is ready is behind port {port} of the Service {place}"));
    let selector = quoted(&format!("kubernetes.io/service-name={service}"));
    let slices =
        format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={selector}");
    if let Ok(slices) = call.get::<List<EndpointSlice>>(&slices).await
        && !slices.items.iter().any(|slice| leads_somewhere(slice, &target))
    {
        return nobody();
    }
    // Endpoints that somebody wrote by hand say nothing of pods.
    let Some(selector) = spec.selector.filter(|selector| !selector.is_empty()) else {
        return Behind::default();
    };
    let Ok(pods) = call.get::<List<Pod>>(&selecting(namespace, &selector)).await else {
        return Behind::default();
    };
    // Endpoints come a moment after the Service is changed; its own selector counts at once.
    let Some(pod) = pods.items.into_iter().find(is_ready) else { return nobody() };
    let number = target.target_port.clone().unwrap_or(IntOrString::Int(port));
    let Some(number) = container_port(&pod, &number) else {
        let pod = pod.metadata.name.unwrap_or_default();
        return Behind::broken(format!(
            "the pod {pod} behind the Service {place} has no port {}",
            shown(&number)
        ));
    };
    let asked = Asked { call, namespace, service, authorities };
    let longest = call.left().min(LONGEST);
    tokio::time::timeout(longest, asked.shake(&pod, number)).await.unwrap_or_default()
}

fn shown(port: &IntOrString) -> String {
    match port {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(name) => format!("{name:?}"),
    }
}

fn leads_somewhere(slice: &EndpointSlice, target: &ServicePort) -> bool {
    let name = target.name.as_deref().unwrap_or_default();
    let ports = slice.ports.iter().flatten();
    let serves = ports.into_iter().any(|port| port.name.as_deref().unwrap_or_default() == name);
    // Nothing said means ready.
    let ready = |ready: Option<bool>| ready != Some(false);
    serves
        && slice
            .endpoints
            .iter()
            .flatten()
            .any(|one| ready(one.conditions.as_ref().and_then(|state| state.ready)))
}

fn selecting(namespace: &str, selector: &BTreeMap<String, String>) -> String {
    let selector: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("/api/v1/namespaces/{namespace}/pods?labelSelector={}", quoted(&selector.join(",")))
}

/// A handshake to be made.
struct Asked<'a> {
    call: &'a Call,
    namespace: &'a str,
    service: &'a str,
    authorities: &'a [u8],
}

impl Asked<'_> {
    async fn shake(&self, pod: &Pod, port: u16) -> Behind {
        self.shaken(pod, port).await.unwrap_or_default()
    }

    async fn shaken(&self, pod: &Pod, port: u16) -> Option<Behind> {
        let Self { call, namespace, service, .. } = *self;
        let named = pod.metadata.name.as_deref()?;
        let api = Api::<Pod>::namespaced(call.client().clone(), namespace);
        let mut forwarder = api.portforward(named, &[port]).await.ok()?;
        let error = forwarder.take_error(port)?;
        let stream = forwarder.take_stream(port)?;
        let name = ServerName::try_from(format!("{service}.{namespace}.svc")).ok()?;
        let stream = match TlsConnector::from(Arc::new(config()?)).connect(name.clone(), stream).await {
            Ok(stream) => stream,
            Err(failure) => {
                let plain = failure.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                if let Some(rustls::Error::InvalidMessage(_)) = plain {
                    return Some(Behind::broken(format!("the pod {named} speaks no TLS on port {port}")));
                }
                let told = tokio::time::timeout(LONGEST / 3, error).await.ok().flatten();
                return told
                    .filter(|told| told.contains("refused"))
                    .map(|_| Behind::broken(format!("the pod {named} does not listen on port {port}")));
            }
        };
        let (_, session) = stream.get_ref();
        let chain = session.peer_certificates()?;
        let broken = distrusted(chain, &name, self.authorities).map(|why| format!("the pod {named} {why}"));
        Some(Behind { certificate: authority::seen(chain.first()?, "its certificate"), broken })
    }
}

/// Why whoever believes these authorities does not believe a certificate. Only what is certain: whoever calls may
/// be less strict than we are, and time is judged elsewhere.
fn distrusted(chain: &[CertificateDer<'_>], name: &ServerName<'_>, authorities: &[u8]) -> Option<String> {
    let (first, others) = chain.split_first()?;
    let mut roots = RootCertStore::empty();
    let authorities = CertificateDer::pem_slice_iter(authorities).filter_map(Result::ok).collect::<Vec<_>>();
    if authorities.contains(first) {
        return None;
    }
    roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return None;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
    match verifier.verify_server_cert(first, others, name, &[], UnixTime::now()) {
        Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            Some("shows a certificate that the registered caBundle did not sign".to_owned())
        }
        Err(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => Some(format!("shows a certificate that is not for {}", name.to_str())),
        _ => None,
    }
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
