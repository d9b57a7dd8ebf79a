//! What is asked when an operator is registered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::chart::ChartSource;
use super::values::{check_crd_name, check_description, check_labels, check_values};
use crate::name::Name;
use crate::problem::Problems;
use crate::profile::Profile;
use crate::version::Version;

/// An operator that somebody wants to register, checked as far as that goes without asking its repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// What it is to be called.
    pub name: Name,
    /// What it is for.
    pub description: Option<String>,
    /// Where it is installed on clusters.
    pub namespace: Name,
    /// Where its chart comes from.
    pub chart: ChartSource,
    /// The version the fleet is on.
    pub current_version: Option<Version>,
    /// Its definitions; found from the chart where none are given.
    pub crd_names: Vec<String>,
    /// For selecting it.
    pub labels: BTreeMap<String, String>,
    /// The values that every installation starts from.
    pub default_values: Map<String, Value>,
    /// Its own profile.
    pub profile: Option<Profile>,
}

/// The texts of a registration, as they came.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// See [`Registration::name`].
    pub name: String,
    /// See [`Registration::description`].
    pub description: Option<String>,
    /// See [`Registration::namespace`].
    pub namespace: String,
    /// The address of the repository.
    pub chart_repository: String,
    /// The name of the chart.
    pub chart_name: String,
    /// See [`Registration::current_version`].
    pub current_version: Option<String>,
    /// See [`Registration::crd_names`].
    pub crd_names: Vec<String>,
    /// See [`Registration::labels`].
    pub labels: BTreeMap<String, String>,
    /// See [`Registration::default_values`].
    pub default_values: Map<String, Value>,
    /// See [`Registration::profile`].
    pub profile: Option<Value>,
}

/// More definitions than any operator has.
const MOST_CRDS: usize = 200;

impl Registration {
    /// Checks what was asked and reports everything that is wrong with it.
    pub fn parse(asked: Asked) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let name = problems.take("name", asked.name.parse::<Name>());
        let namespace = problems.take("namespace", asked.namespace.parse::<Name>());
        let repository = problems.take("chartRepository", asked.chart_repository.parse());
        let chart = problems.take("chartName", asked.chart_name.parse());
        let current_version = asked
            .current_version
            .filter(|version| !version.is_empty())
            .and_then(|version| problems.take("currentVersion", version.parse::<Version>()));
        if let Some(description) = &asked.description {
            problems.take("description", check_description(description));
        }
        if asked.crd_names.len() > MOST_CRDS {
            problems.add("crdNames", format!("are more than {MOST_CRDS}"));
        }
        let mut seen = BTreeSet::new();
        for (index, crd) in asked.crd_names.iter().enumerate() {
            let place = format!("crdNames[{index}]");
            problems.take(&place, check_crd_name(crd));
            if !seen.insert(crd) {
                problems.add(place, "is twice there");
            }
        }
        for problem in &check_labels(&asked.labels) {
            problems.add(problem.path.clone(), &problem.message);
        }
        problems.take("defaultValues", check_values(&asked.default_values));
        let profile = asked.profile.and_then(|profile| match Profile::parse(&profile) {
            Ok(profile) => Some(profile),
            Err(inner) => {
                problems.nest("profile", inner);
                None
            }
        });
        match (name, namespace, repository, chart) {
            (Some(name), Some(namespace), Some(repository), Some(chart)) if problems.is_empty() => Ok(Self {
                name,
                description: asked.description.filter(|text| !text.is_empty()),
                namespace,
                chart: ChartSource { repository, chart },
                current_version,
                crd_names: asked.crd_names,
                labels: asked.labels,
                default_values: asked.default_values,
                profile,
            }),
            _ => Err(problems),
        }
    }
}
