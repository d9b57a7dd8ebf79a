//! See `slipway_contract::clusters`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use slipway_contract::clusters::{
    Cluster, ClusterHealth, ClusterHealthSample, ClusterList, ClusterNodeHealth, ClusterOperator,
    ClustersQuery, Confidential, DISABLE, ENABLE, HEALTH, LIST, REGISTER, REMOVE, ROTATE, RegisterCluster,
    RemoveQuery, RotateCluster, RotatedCluster, SHOW, UPDATE, UpdateCluster,
};
use slipway_contract::page::PageInfo;
use slipway_domain::cluster::{self, label};
use slipway_domain::problem::Problems;
use slipway_http::{ApiError, Body, Caller, IfMatch, Path, Query, Tagged};
use slipway_orchestrator::clusters::{ClusterReport, Description, Registration, Removal};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::store::ClusterFilter;

use crate::App;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&REGISTER, register)
        .add(&LIST, list)
        .add(&SHOW, show)
        .add(&HEALTH, health)
        .add(&UPDATE, update)
        .add(&ENABLE, enable)
        .add(&DISABLE, disable)
        .add(&ROTATE, rotate)
        .add(&REMOVE, remove)
}

async fn register(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(request): Body<RegisterCluster>,
) -> Result<(StatusCode, Json<Cluster>), ApiError> {
    let access = Given {
        kubeconfig: request.kubeconfig,
        server: request.api_server_url,
        authority: request.ca_data,
        server_name: request.tls_server_name,
        token: request.token,
    };
    let access = access.read().and_then(|access| {
        access.ok_or_else(|| {
            Problems::one(
                "kubeconfig",
                "is missing, and so are apiServerUrl and token; give one or the other",
            )
        })
    });
    let registration = Registration {
        name: request.name,
        description: request.description,
        environment: request.environment.into(),
        labels: request.labels,
        access,
        duplicate: request.allow_duplicate,
    };
    let cluster = app.manager.register_cluster(&actor, registration).await?;
    Ok((StatusCode::CREATED, Json(cluster.into())))
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<ClustersQuery>,
) -> Result<Json<ClusterList>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let labels = query.label.as_deref().unwrap_or_default();
    let labels = labels.split(',').filter(|text| !text.is_empty()).map(label::pair).collect::<Result<_, _>>();
    let filter = ClusterFilter {
        environment: query.environment.map(Into::into),
        health: query.health_status.map(Into::into),
        labels: labels.map_err(|wrong| Problems::one("label", wrong))?,
        state: None,
    };
    let page = app.manager.clusters(&actor, &filter, window).await?;
    let more = page.has_more();
    let info = PageInfo {
        total: page.total,
        limit: window.limit,
        offset: window.offset,
        has_more: more,
        next_offset: more.then(|| window.offset + page.items.len() as u64),
    };
    Ok(Json(ClusterList { clusters: page.items.into_iter().map(Into::into).collect(), page: info }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Tagged<Json<Cluster>>, ApiError> {
    Ok(tagged(app.manager.cluster(&actor, &name).await?))
}

async fn health(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<ClusterHealth>, ApiError> {
    let ClusterReport { cluster, history, operators } = app.manager.cluster_report(&actor, &name).await?;
    let deployed = operators.into_iter().filter_map(|view| {
        let seen = view.installation.seen;
        Some(ClusterOperator {
            operator_name: view.operator?.into(),
            version: seen.version,
            namespace: seen.namespace,
            deployed_at: seen.deployed_at,
        })
    });
    let nodes = cluster.health.nodes;
    Ok(Json(ClusterHealth {
        cluster_name: cluster.name.into(),
        health_status: cluster.health.status.into(),
        reason: cluster.health.reason,
        since: cluster.health.since,
        kubernetes_version: cluster.health.kubernetes_version,
        node_count: nodes.total(),
        node_health: ClusterNodeHealth { ready: nodes.ready, not_ready: nodes.not_ready },
        api_server_reachable: cluster.health.reachable,
        api_server_latency_ms: cluster.health.latency_ms,
        deployed_operators: deployed.collect(),
        last_checked_at: cluster.health.checked_at,
        history: history
            .into_iter()
            .map(|sample| ClusterHealthSample {
                at: sample.at,
                health_status: sample.status.into(),
                reason: sample.reason,
                latency_ms: sample.latency_ms,
                changed: sample.changed,
            })
            .collect(),
    }))
}

async fn update(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    IfMatch(revision): IfMatch,
    Body(request): Body<UpdateCluster>,
) -> Result<Tagged<Json<Cluster>>, ApiError> {
    let wanted = Description {
        description: request.description,
        environment: request.environment.map(Into::into),
        labels: request.labels,
        revision,
    };
    Ok(tagged(app.manager.describe_cluster(&actor, &name, wanted).await?))
}

async fn enable(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<Cluster>, ApiError> {
    let cluster = app.manager.set_cluster_state(&actor, &name, cluster::State::Enabled).await?;
    Ok(Json(cluster.into()))
}

async fn disable(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<Cluster>, ApiError> {
    let cluster = app.manager.set_cluster_state(&actor, &name, cluster::State::Disabled).await?;
    Ok(Json(cluster.into()))
}

async fn rotate(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Body(request): Body<RotateCluster>,
) -> Result<Json<RotatedCluster>, ApiError> {
    let given = Given {
        kubeconfig: request.kubeconfig,
        server: request.api_server_url,
        authority: request.ca_data,
        server_name: request.tls_server_name,
        token: request.token,
    };
    let rotated = app.manager.rotate_cluster(&actor, &name, given.read()?).await?;
    Ok(Json(RotatedCluster { cluster: rotated.cluster.into(), previous_revoked: rotated.revoked }))
}

async fn remove(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Query(query): Query<RemoveQuery>,
) -> Result<StatusCode, ApiError> {
    let removal = if query.force.unwrap_or(false) { Removal::Forced } else { Removal::Orderly };
    app.manager.remove_cluster(&actor, &name, removal).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How a cluster is reached, as it was sent.
struct Given {
    kubeconfig: Option<Confidential>,
    server: Option<String>,
    authority: Option<String>,
    server_name: Option<String>,
    token: Option<Confidential>,
}

impl Given {
    /// The kubeconfig or the parts; nothing if nothing was sent.
    fn read(self) -> Result<Option<GivenAccess>, Problems> {
        let secret = |text: &Confidential| text.expose().to_owned().into();
        let parts = self.server.is_some()
            || self.authority.is_some()
            || self.server_name.is_some()
            || self.token.is_some();
        match (self.kubeconfig, parts) {
            (Some(_), true) => Err(Problems::one(
                "kubeconfig",
                "comes with apiServerUrl, caData, tlsServerName or token; give one or the other",
            )),
            (Some(kubeconfig), false) => Ok(Some(GivenAccess::Kubeconfig(secret(&kubeconfig)))),
            (None, false) => Ok(None),
            (None, true) => {
                let mut problems = Problems::new();
                if self.server.is_none() {
                    problems.add("apiServerUrl", "is missing");
                }
                if self.token.is_none() {
                    problems.add("token", "is missing");
                }
                problems.or(())?;
                Ok(Some(GivenAccess::Parts {
                    server: self.server.unwrap_or_default(),
                    authority: self.authority,
                    server_name: self.server_name,
                    token: secret(&self.token.unwrap_or_default()),
                }))
            }
        }
    }
}

fn tagged(cluster: cluster::Cluster) -> Tagged<Json<Cluster>> {
    Tagged(cluster.revision, Json(cluster.into()))
}
