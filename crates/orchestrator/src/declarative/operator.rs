//! Operators as documents: where the chart comes from, what every installation starts from, and the profile.
//!
//! No credentials are in a file. A repository that asks for some is registered with a command; documents
//! leave them as they are.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use slipway_domain::access::Actor;
use slipway_domain::document::{Document, Fields, Kind};
use slipway_domain::name::Name;
use slipway_domain::operator::{Asked, Operator, OperatorChange};
use slipway_domain::problem::Problems;

use super::{Planned, below_spec};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::{ChangeOperator, GivenAccess, GivenCredentials, NewOperator};
use crate::ports::charts::Credentials;

/// What a document wants of an operator.
#[derive(Default)]
struct Desired {
    namespace: Option<String>,
    chart_repository: String,
    chart_name: Option<String>,
    description: Option<String>,
    current_version: Option<String>,
    crd_names: Option<Vec<String>>,
    labels: BTreeMap<String, String>,
    default_values: Map<String, Value>,
    profile: Option<Value>,
    authority: Option<String>,
}

impl Manager {
    pub(super) async fn operator_documents(&self) -> Result<Vec<Document>, Error> {
        let operators = self.store().all_operators().await?;
        Ok(operators
            .iter()
            .map(|operator| Document {
                kind: Kind::Operator,
                name: operator.name.to_string(),
                spec: spec(operator),
            })
            .collect())
    }

    pub(super) async fn plan_operator(
        &self,
        actor: &Actor,
        document: &Document,
    ) -> Result<Result<Planned, Problems>, Error> {
        let mut problems = Problems::new();
        let name = problems.take("metadata.name", document.name.parse::<Name>());
        let desired = match Desired::read(&document.spec) {
            Ok(desired) => desired,
            Err(inner) => {
                problems.nest("spec", inner);
                return Ok(Err(problems));
            }
        };
        let Some(name) = name else { return Ok(Err(problems)) };
        let planned = match self.store().operator_by_name(&name).await? {
            None => self.operator_made(actor, &name, desired).await,
            Some(before) => self.operator_changed(actor, &before, desired).await,
        };
        match planned {
            Ok(planned) => Ok(Ok(planned)),
            Err(error) if error.code == Code::ValidationError => {
                problems.nest("spec", explained(&name, &below_spec(&error.details, &[])));
                Ok(Err(problems))
            }
            Err(error) => Err(error),
        }
    }

    async fn operator_made(&self, actor: &Actor, name: &Name, desired: Desired) -> Result<Planned, Error> {
        let or_name = |text: Option<String>| text.unwrap_or_else(|| name.to_string());
        let asked = Asked {
            name: name.to_string(),
            description: desired.description,
            namespace: or_name(desired.namespace),
            chart_repository: desired.chart_repository,
            chart_name: or_name(desired.chart_name),
            current_version: desired.current_version,
            crd_names: desired.crd_names.unwrap_or_default(),
            labels: desired.labels,
            default_values: desired.default_values,
            profile: desired.profile,
        };
        let access = GivenAccess { credentials: Credentials::Anonymous, authority: desired.authority };
        let (operator, changes) = self.registered(actor, NewOperator { asked, access }).await?;
        Ok(Planned { before: None, after: spec(&operator), changes })
    }

    async fn operator_changed(
        &self,
        actor: &Actor,
        before: &Operator,
        desired: Desired,
    ) -> Result<Planned, Error> {
        if let Some(names) = &desired.crd_names
            && *names != before.crd_names
        {
            let message = "cannot be changed after registration; leave them out";
            return Err(Problems::one("crdNames", message).into());
        }
        let or_name = |text: Option<String>| text.unwrap_or_else(|| before.name.to_string());
        let authority = (desired.authority != before.authority).then_some(desired.authority);
        let asked = ChangeOperator {
            change: OperatorChange {
                description: Some(desired.description.unwrap_or_default()),
                labels: Some(desired.labels),
                default_values: Some(desired.default_values),
                current_version: desired.current_version,
                profile: Some(desired.profile.unwrap_or(Value::Null)),
            },
            fixed: vec![
                ("namespace", or_name(desired.namespace)),
                ("chartRepository", desired.chart_repository),
                ("chartName", or_name(desired.chart_name)),
            ],
            access: GivenCredentials { credentials: None, authority },
            revision: None,
        };
        let (operator, changes) = self.changed(actor, before, asked).await?;
        let mut planned = Planned {
            before: Some(spec(before)),
            after: spec(&operator),
            changes: changes.unwrap_or_default(),
        };
        // Not among what is exported, since rollouts change it; told where a document does.
        if operator.current_version != before.current_version {
            for (spec, operator) in [(planned.before.as_mut(), before), (Some(&mut planned.after), &operator)]
            {
                if let (Some(spec), Some(version)) = (spec, &operator.current_version) {
                    spec["currentVersion"] = json!(version);
                }
            }
        }
        Ok(planned)
    }
}

/// What is there, as the `spec` of a document; what is as usual is left out.
fn spec(operator: &Operator) -> Value {
    let mut spec = json!({
        "namespace": operator.namespace,
        "chartRepository": operator.chart.repository,
        "chartName": operator.chart.chart,
    });
    if let Some(description) = &operator.description {
        spec["description"] = json!(description);
    }
    if !operator.crd_names.is_empty() {
        spec["crdNames"] = json!(operator.crd_names);
    }
    if !operator.labels.is_empty() {
        spec["labels"] = json!(operator.labels);
    }
    if !operator.default_values.is_empty() {
        spec["defaultValues"] = Value::Object(operator.default_values.clone());
    }
    if let Some(profile) = &operator.profile {
        spec["profile"] = json!(profile);
    }
    if let Some(authority) = &operator.authority {
        spec["caCertificate"] = json!(authority);
    }
    spec
}

/// A document has no place for credentials, so it is said where they are given.
fn explained(name: &Name, problems: &Problems) -> Problems {
    let mut explained = Problems::new();
    for problem in problems {
        if problem.path.starts_with("credentials") {
            explained.add(
                "chartRepository",
                format!(
                    "asks for credentials, which are not kept in files: {}; register it with: slipway operator add {name} --repository-username NAME --repository-password-file FILE",
                    problem.message
                ),
            );
        } else {
            explained.add(problem.path.clone(), &problem.message);
        }
    }
    explained
}

impl Desired {
    fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let chart_repository: Option<String> = fields.required("chartRepository");
        let desired = Self {
            chart_repository: chart_repository.unwrap_or_default(),
            chart_name: fields.optional("chartName"),
            namespace: fields.optional("namespace"),
            description: fields.optional("description"),
            current_version: fields.optional("currentVersion"),
            crd_names: fields.optional("crdNames"),
            labels: fields.optional("labels").unwrap_or_default(),
            default_values: fields.optional("defaultValues").unwrap_or_default(),
            profile: fields.optional("profile"),
            authority: fields.optional("caCertificate"),
        };
        fields.end();
        problems.or(desired)
    }
}
