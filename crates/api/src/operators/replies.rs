//! Between the wire and the use cases.

use slipway_contract::operators::{
    DeployedCluster, DriftReply, DriftedObject, InstallationReply, InstallationsReply, OperatorDetailReply,
    OperatorReply, ProfileReply, RegisterOperator, RepositoryCredentials, UpdateOperator, VersionReply,
    VersionsReply,
};
use slipway_domain::operator::{Asked, Drift, Operator, OperatorChange, Standing};
use slipway_domain::problem::Problems;
use slipway_domain::profile::Profile;
use slipway_orchestrator::operators::{
    ChangeOperator, DeployedCluster as Deployed, GivenAccess, GivenCredentials, InstallationView,
    NewOperator, Offered, OperatorDetail, ProfileOrigin, VersionRow,
};
use slipway_orchestrator::ports::charts::Credentials;

pub(super) fn new_operator(asked: RegisterOperator) -> Result<NewOperator, Problems> {
    let credentials = asked.credentials.map(credentials).transpose()?.unwrap_or_default();
    Ok(NewOperator {
        asked: Asked {
            name: asked.name,
            description: asked.description,
            namespace: asked.namespace,
            chart_repository: asked.chart_repository,
            chart_name: asked.chart_name,
            current_version: asked.current_version,
            crd_names: asked.crd_names,
            labels: asked.labels,
            default_values: asked.default_values,
            profile: asked.profile,
        },
        access: GivenAccess { credentials, authority: asked.ca_certificate },
    })
}

pub(super) fn change(asked: UpdateOperator, revision: Option<i64>) -> Result<ChangeOperator, Problems> {
    let fixed = [
        ("name", asked.name),
        ("namespace", asked.namespace),
        ("chartRepository", asked.chart_repository),
        ("chartName", asked.chart_name),
    ];
    let credentials = match asked.credentials {
        None => None,
        Some(None) => Some(Credentials::Anonymous),
        Some(Some(given)) => Some(credentials(given)?),
    };
    Ok(ChangeOperator {
        change: OperatorChange {
            description: asked.description,
            labels: asked.labels,
            default_values: asked.default_values,
            current_version: asked.current_version,
            profile: asked.profile,
        },
        fixed: fixed.into_iter().filter_map(|(field, value)| Some((field, value?))).collect(),
        access: GivenCredentials { credentials, authority: asked.ca_certificate },
        revision,
    })
}

fn credentials(given: RepositoryCredentials) -> Result<Credentials, Problems> {
    match (given.username, given.password, given.token) {
        (Some(username), Some(password), None) => Ok(Credentials::Basic { username, password }),
        (None, None, Some(token)) => Ok(Credentials::Bearer { token }),
        (None, None, None) => Ok(Credentials::Anonymous),
        _ => Err(Problems::one("credentials", "have to be a username with a password, or a token")),
    }
}

pub(super) fn reply(operator: &Operator) -> OperatorReply {
    OperatorReply {
        operator_id: operator.id.0,
        name: operator.name.to_string(),
        namespace: operator.namespace.to_string(),
        current_version: operator.current_version.as_ref().map(ToString::to_string),
        latest_version: operator.latest_version.as_ref().map(ToString::to_string),
        has_update: operator.has_update(),
        deployed_cluster_count: operator.deployed_clusters,
        created_at: operator.created_at,
    }
}

pub(super) fn detail(found: &OperatorDetail) -> OperatorDetailReply {
    let operator = &found.operator;
    OperatorDetailReply {
        operator: reply(operator),
        description: operator.description.clone(),
        chart_repository: operator.chart.repository.to_string(),
        chart_name: operator.chart.chart.to_string(),
        crd_names: operator.crd_names.clone(),
        labels: operator.labels.clone(),
        default_values: operator.default_values.clone(),
        has_credentials: operator.has_credentials,
        checked_at: operator.checked_at,
        check_error: operator.check_error.clone(),
        deployed_clusters: found.deployed.iter().map(deployed).collect(),
        updated_at: operator.updated_at,
    }
}

pub(super) fn deployed(found: &Deployed) -> DeployedCluster {
    let seen = &found.installation.seen;
    DeployedCluster {
        cluster_name: found.cluster.clone(),
        version: seen.version.clone(),
        health: found.health.to_string(),
        deployed_at: seen.deployed_at,
        namespace: seen.namespace.clone(),
        release: seen.release.clone(),
        revision: seen.revision,
        state: seen.state.word().to_owned(),
        managed_by: seen.managed_by.word().to_owned(),
        manager_reference: seen.manager_reference.clone(),
        drift: found.installation.drift.as_ref().map(drift),
    }
}

fn drift(found: &Drift) -> DriftReply {
    let objects = found.objects.iter().map(|one| DriftedObject {
        object: one.object.clone(),
        gone: one.gone,
        fields: one.fields.clone(),
    });
    DriftReply { since: found.since, objects: objects.collect() }
}

pub(super) fn versions(offered: &Offered) -> VersionsReply {
    let operator = &offered.operator;
    let (before, released): (Vec<&VersionRow>, Vec<&VersionRow>) =
        offered.versions.iter().partition(|row| row.known.offered.version.is_prerelease());
    VersionsReply {
        operator_name: operator.name.to_string(),
        current_version: operator.current_version.as_ref().map(ToString::to_string),
        versions: released.into_iter().map(version).collect(),
        pre_releases: before.into_iter().map(version).collect(),
        checked_at: operator.checked_at,
        check_error: operator.check_error.clone(),
    }
}

fn version(row: &VersionRow) -> VersionReply {
    let offered = &row.known.offered;
    VersionReply {
        version: offered.version.to_string(),
        release_date: offered.released_at,
        is_latest: row.standing == Standing::Latest,
        changelog_url: offered.changelog_url.clone(),
        app_version: offered.app_version.clone(),
        deprecated: offered.deprecated,
    }
}

pub(super) fn profile(operator: &Operator, profile: &Profile, origin: ProfileOrigin) -> ProfileReply {
    let origin = match origin {
        ProfileOrigin::Own => "own",
        ProfileOrigin::BuiltIn => "builtIn",
        ProfileOrigin::Default => "default",
    };
    ProfileReply {
        operator_name: operator.name.to_string(),
        origin: origin.to_owned(),
        profile: serde_json::to_value(profile).unwrap_or_default(),
    }
}

pub(super) fn installations(cluster: String, found: &[InstallationView]) -> InstallationsReply {
    let installation = |view: &InstallationView| {
        let seen = &view.installation.seen;
        InstallationReply {
            operator_name: view.operator.as_ref().map(ToString::to_string),
            namespace: seen.namespace.clone(),
            release: seen.release.clone(),
            chart: seen.chart.clone(),
            version: seen.version.clone(),
            app_version: seen.app_version.clone(),
            revision: seen.revision,
            state: seen.state.word().to_owned(),
            managed_by: seen.managed_by.word().to_owned(),
            manager_reference: seen.manager_reference.clone(),
            deployed_at: seen.deployed_at,
            seen_at: view.installation.seen_at,
            drift: view.installation.drift.as_ref().map(drift),
        }
    };
    InstallationsReply { cluster_name: cluster, installations: found.iter().map(installation).collect() }
}
