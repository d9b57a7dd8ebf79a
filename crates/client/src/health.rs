//! The health of operators.

use slipway_contract::health::{
    BaselineReply, CLUSTER_OPERATOR_HEALTH, ClusterOperatorHealth, FLEET_HEALTH, FleetHealthReply,
    HEALTH_HISTORY, HealthHistory, HealthQuery, HistoryQuery, OPERATOR_HEALTH, OperatorHealthReply,
    TAKE_BASELINE,
};
use slipway_contract::page::PageQuery;

use crate::{Client, ClientError};

impl Client {
    /// How an operator is on all clusters: the last record, or as it is now.
    pub async fn operator_health(&self, name: &str, fresh: bool) -> Result<OperatorHealthReply, ClientError> {
        self.call(&OPERATOR_HEALTH, &[name]).query(&asked(fresh)).send().await
    }

    /// How an operator is on one cluster: the last record, or as it is now.
    pub async fn cluster_operator_health(
        &self,
        cluster: &str,
        operator: &str,
        fresh: bool,
    ) -> Result<ClusterOperatorHealth, ClientError> {
        self.call(&CLUSTER_OPERATOR_HEALTH, &[cluster, operator]).query(&asked(fresh)).send().await
    }

    /// How an operator was on one cluster, the newest first.
    pub async fn operator_health_history(
        &self,
        cluster: &str,
        operator: &str,
        query: &HistoryQuery,
    ) -> Result<HealthHistory, ClientError> {
        self.call(&HEALTH_HISTORY, &[cluster, operator]).query(query).send().await
    }

    /// Takes what is broken now as given.
    pub async fn take_health_baseline(
        &self,
        cluster: &str,
        operator: &str,
    ) -> Result<BaselineReply, ClientError> {
        self.call(&TAKE_BASELINE, &[cluster, operator]).send().await
    }

    /// All operators in a word each, the worst first.
    pub async fn fleet_health(&self, query: &PageQuery) -> Result<FleetHealthReply, ClientError> {
        self.call(&FLEET_HEALTH, &[]).query(query).send().await
    }
}

fn asked(fresh: bool) -> HealthQuery {
    HealthQuery { fresh: fresh.then_some(true) }
}
