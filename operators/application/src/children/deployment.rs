//! The Deployment that runs the pods.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, Container, ContainerPort, EnvFromSource, PodSecurityContext, PodSpec,
    PodTemplateSpec, ResourceRequirements, SeccompProfile, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;

use super::config::{CONFIG_HASH, config_hash, metadata};
use super::names::Names;
use super::quantity::Quantity;
use super::service::PORT_NAME;
use super::{SpecError, labels};
use crate::crd::{Amounts, Application, Strategy};

/// The name of the container.
const CONTAINER: &str = "application";

pub(super) fn deployment(app: &Application, names: &Names) -> Result<Deployment, SpecError> {
    Ok(Deployment {
        metadata: metadata(app, names, &names.deployment),
        spec: DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: labels::selecting(names),
            strategy: Some(strategy(app.strategy())),
            template: template(app, names)?,
            ..DeploymentSpec::default()
        },
        status: None,
    })
}

/// The bounds of a rolling update are written down although they are Kubernetes' own: a default belongs to
/// nobody, would stay behind on a change to `Recreate`, and is refused beside it.
fn strategy(strategy: Strategy) -> DeploymentStrategy {
    let quarter = || Some(IntOrString::String("25%".to_owned()));
    match strategy {
        Strategy::RollingUpdate => DeploymentStrategy {
            type_: Some("RollingUpdate".to_owned()),
            rolling_update: Some(RollingUpdateDeployment {
                max_surge: quarter(),
                max_unavailable: quarter(),
            }),
        },
        Strategy::Recreate => DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None },
    }
}

fn template(app: &Application, names: &Names) -> Result<PodTemplateSpec, SpecError> {
    let annotations = config_hash(app).map(|hash| BTreeMap::from([(CONFIG_HASH.to_owned(), hash)]));
    Ok(PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels::of(names)), annotations, ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container(app, names)?],
            security_context: Some(PodSecurityContext {
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    ..SeccompProfile::default()
                }),
                ..PodSecurityContext::default()
            }),
            ..PodSpec::default()
        }),
    })
}

/// Probes are not guessed: an application that opens its port late, or never, would be killed for it.
fn container(app: &Application, names: &Names) -> Result<Container, SpecError> {
    let environment = (!app.spec.config.is_empty()).then(|| {
        let config_map = ConfigMapEnvSource { name: names.config_map.clone(), optional: None };
        vec![EnvFromSource { config_map_ref: Some(config_map), ..EnvFromSource::default() }]
    });
    Ok(Container {
        name: CONTAINER.to_owned(),
        image: Some(app.spec.image.clone()),
        ports: Some(vec![ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: i32::from(app.port()?),
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        env_from: environment,
        resources: resources(app)?,
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            ..SecurityContext::default()
        }),
        ..Container::default()
    })
}

fn resources(app: &Application) -> Result<Option<ResourceRequirements>, SpecError> {
    let Some(resources) = &app.spec.resources else { return Ok(None) };
    let requests = amounts("requests", resources.requests.as_ref())?;
    let limits = amounts("limits", resources.limits.as_ref())?;
    let any = requests.is_some() || limits.is_some();
    Ok(any.then_some(ResourceRequirements { requests, limits, claims: None }))
}

fn amounts(kind: &str, amounts: Option<&Amounts>) -> Result<Option<BTreeMap<String, Amount>>, SpecError> {
    let Some(Amounts { cpu, memory }) = amounts else { return Ok(None) };
    let mut found = BTreeMap::new();
    for (name, text) in [("cpu", cpu), ("memory", memory)] {
        let Some(text) = text else { continue };
        // The API server writes quantities in one way; written as it does, a no-op is seen as one.
        let quantity: Quantity = text.parse().map_err(|source| SpecError::Quantity {
            field: format!("{kind}.{name}"),
            value: text.clone(),
            source,
        })?;
        found.insert(name.to_owned(), Amount(quantity.to_string()));
    }
    Ok((!found.is_empty()).then_some(found))
}
