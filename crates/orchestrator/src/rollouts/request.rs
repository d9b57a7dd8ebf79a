//! Reading what somebody asks to be rolled out: every problem at once.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use slipway_domain::approval::Note;
use slipway_domain::cluster::Cluster;
use slipway_domain::name::Name;
use slipway_domain::operator::{Operator, check_values};
use slipway_domain::preflight::Preflight;
use slipway_domain::problem::Problems;
use slipway_domain::rollout::{Settings, Wanted, Wave, read};
use slipway_domain::version::Version;

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::KnownVersion;

/// What this reads of a request; the rest is the strategy's.
const OURS: &[&str] =
    &["operatorName", "targetVersion", "helmValues", "emergency", "mayDelete", "migrate", "supersede"];

/// So many versions are named to somebody who asks for one that does not exist.
const NAMED: usize = 3;

/// A request that makes sense.
pub(super) struct Request {
    pub(super) operator: Operator,
    pub(super) version: Version,
    pub(super) wanted: Wanted,
    /// The targets, as they are registered.
    pub(super) clusters: Vec<Cluster>,
    pub(super) values: Map<String, Value>,
    pub(super) emergency: Option<Note>,
    pub(super) may_delete: Vec<String>,
    pub(super) migrate: bool,
    pub(super) supersede: bool,
}

/// What would happen, without anything being changed.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The operator.
    pub operator: Name,
    /// The version.
    pub version: Version,
    /// All settings, with the defaults filled in.
    pub settings: Settings,
    /// The waves.
    pub waves: Vec<Wave>,
    /// What preflight says about each cluster; a sentence where it could not be looked at.
    pub clusters: BTreeMap<Name, Result<Preflight, String>>,
}

impl Manager {
    pub(super) async fn read_request(&self, request: &Value) -> Result<Request, Error> {
        let mut problems = Problems::new();
        let fleet = self.every_cluster().await?;
        let wanted = match read(request, OURS, &fleet) {
            Ok(wanted) => Some(wanted),
            Err(wrong) => {
                problems.nest("", wrong);
                None
            }
        };
        let field = |key: &str| request.get(key).filter(|value| !value.is_null());
        let text = |key: &str, problems: &mut Problems| match field(key) {
            None => {
                problems.add(key, "is missing");
                None
            }
            Some(value) => {
                let text = value.as_str().map(str::to_owned);
                if text.is_none() {
                    problems.add(key, "has to be text");
                }
                text
            }
        };
        let name = text("operatorName", &mut problems);
        let version = text("targetVersion", &mut problems);
        let version = version.and_then(|text| problems.take("targetVersion", text.parse::<Version>()));
        let values = values(field("helmValues"), &mut problems);
        let emergency = emergency(field("emergency"), &mut problems);
        let may_delete = field("mayDelete").map_or_else(Vec::new, |value| {
            let list = serde_json::from_value::<Vec<String>>(value.clone());
            problems
                .take("mayDelete", list.map_err(|_| "has to be a list of texts such as \"Namespace old\""))
                .unwrap_or_default()
        });
        let flag = |key: &str, problems: &mut Problems| {
            field(key).is_some_and(|value| {
                value.as_bool().unwrap_or_else(|| {
                    problems.add(key, "has to be true or false");
                    false
                })
            })
        };
        let migrate = flag("migrate", &mut problems);
        let supersede = flag("supersede", &mut problems);
        let operator = match name {
            Some(name) => Some(self.find_operator(&name).await?),
            None => None,
        };
        let version = match (&operator, version) {
            (Some(operator), Some(version)) => self.offered_version(operator, version, &mut problems).await?,
            (_, version) => version,
        };
        let (Some(wanted), Some(operator), Some(version), true) =
            (wanted, operator, version, problems.is_empty())
        else {
            return Err(Error::invalid(problems));
        };
        let is_target =
            |cluster: &Cluster| wanted.targets.iter().any(|target| target.cluster == cluster.name);
        let clusters = fleet.into_iter().filter(is_target).collect();
        Ok(Request { operator, version, wanted, clusters, values, emergency, may_delete, migrate, supersede })
    }

    /// The version as it is known; a problem that names the newest where there is none.
    async fn offered_version(
        &self,
        operator: &Operator,
        version: Version,
        problems: &mut Problems,
    ) -> Result<Option<Version>, Error> {
        let known = self.store().operator_versions(operator.id).await?;
        if let Some(known) = known.iter().find(|known| known.offered.version == version) {
            return Ok(Some(known.offered.version.clone()));
        }
        let mut newest: Vec<&KnownVersion> =
            known.iter().filter(|known| known.withdrawn_at.is_none()).collect();
        newest.sort_by(|a, b| b.offered.version.cmp(&a.offered.version));
        let named: Vec<String> =
            newest.iter().take(NAMED).map(|known| known.offered.version.to_string()).collect();
        let hint = if named.is_empty() {
            "; its repository was not read yet".to_owned()
        } else {
            format!("; the newest are {}", named.join(", "))
        };
        problems
            .add("targetVersion", format!("is {version}, and {} has no such version{hint}", operator.name));
        Ok(None)
    }
}

fn values(given: Option<&Value>, problems: &mut Problems) -> Map<String, Value> {
    let Some(given) = given else { return Map::new() };
    let Some(values) = given.as_object() else {
        problems.add("helmValues", "has to be an object");
        return Map::new();
    };
    problems.take("helmValues", check_values(values));
    values.clone()
}

fn emergency(given: Option<&Value>, problems: &mut Problems) -> Option<Note> {
    let given = given?;
    let reason = given.get("reason").or(Some(given)).and_then(Value::as_str);
    let Some(reason) = reason else {
        problems.add("emergency", "has to say why, as {\"reason\": \"…\"}");
        return None;
    };
    problems.take("emergency.reason", reason.parse::<Note>())
}

/// That somebody may not go past approvals.
pub(super) fn not_in_emergency() -> Error {
    Error::new(Code::Forbidden, "only an admin may go past approvals in an emergency")
}
