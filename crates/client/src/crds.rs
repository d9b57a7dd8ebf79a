//! CRDs.

use slipway_contract::crds::{
    APPROVE, ApproveCrd, CREATE, CrdHistory, CrdHistoryQuery, CrdList, CrdQuery, CrdReply, CrdStatusQuery,
    CrdStatusReply, CrdsQuery, CreateCrd, DEPRECATE, DeprecateCrd, HISTORY, LIST, SHOW, STATUS, VALIDATE,
    ValidateCrd, ValidateReply,
};

use crate::{Client, ClientError};

impl Client {
    /// Stores a schema.
    pub async fn create_crd(&self, body: &CreateCrd) -> Result<CrdReply, ClientError> {
        self.call(&CREATE, &[]).body(body).send().await
    }

    /// The CRDs that are stored.
    pub async fn crds(&self, query: &CrdsQuery) -> Result<CrdList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// One, with its schema.
    pub async fn crd(&self, name: &str, query: &CrdQuery) -> Result<CrdReply, ClientError> {
        self.call(&SHOW, &[name]).query(query).send().await
    }

    /// The history of one.
    pub async fn crd_history(&self, name: &str, query: &CrdHistoryQuery) -> Result<CrdHistory, ClientError> {
        self.call(&HISTORY, &[name]).query(query).send().await
    }

    /// One on every cluster.
    pub async fn crd_status(
        &self,
        name: &str,
        query: &CrdStatusQuery,
    ) -> Result<CrdStatusReply, ClientError> {
        self.call(&STATUS, &[name]).query(query).send().await
    }

    /// Judges a schema.
    pub async fn validate_crd(&self, name: &str, body: &ValidateCrd) -> Result<ValidateReply, ClientError> {
        self.call(&VALIDATE, &[name]).body(body).send().await
    }

    /// Agrees to a schema.
    pub async fn approve_crd(&self, name: &str, body: &ApproveCrd) -> Result<CrdReply, ClientError> {
        self.call(&APPROVE, &[name]).body(body).send().await
    }

    /// Says that a CRD is to be left.
    pub async fn deprecate_crd(&self, name: &str, body: &DeprecateCrd) -> Result<CrdReply, ClientError> {
        self.call(&DEPRECATE, &[name]).body(body).send().await
    }
}
