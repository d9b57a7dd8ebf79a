//! Things kept in files, and settings.

use slipway_contract::settings::{
    APPLY, ApplyReply, ApplyRequest, EXPORT, ExportReply, KindQuery, LIST, REMOVE, SHOW, SettingList,
    SettingReply,
};

use crate::{Client, ClientError};

impl Client {
    /// Makes things as documents want them, or says what would change.
    pub async fn apply(&self, body: &ApplyRequest) -> Result<ApplyReply, ClientError> {
        self.call(&APPLY, &[]).body(body).send().await
    }

    /// Everything that can be kept in files.
    pub async fn export(&self, query: &KindQuery) -> Result<ExportReply, ClientError> {
        self.call(&EXPORT, &[]).query(query).send().await
    }

    /// Policies, approval rules, windows and values.
    pub async fn settings(&self, query: &KindQuery) -> Result<SettingList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// One of them.
    pub async fn setting(&self, kind: &str, name: &str) -> Result<SettingReply, ClientError> {
        self.call(&SHOW, &[kind, name]).send().await
    }

    /// Removes one of them.
    pub async fn remove_setting(&self, kind: &str, name: &str) -> Result<(), ClientError> {
        self.call(&REMOVE, &[kind, name]).send_only().await
    }
}
