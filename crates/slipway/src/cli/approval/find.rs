//! An approval by its id, or by the beginning of it.

use anyhow::bail;
use slipway_client::Client;
use slipway_contract::approvals::{Approval, ApprovalStatusFilter, ApprovalsQuery};
use uuid::Uuid;

use super::words::{short, what};
use crate::cli::failure::Missing;

/// The one that is meant; an error that names those it could be.
pub(super) async fn find(client: &Client, id: &str, among: ApprovalStatusFilter) -> anyhow::Result<Approval> {
    if id.parse::<Uuid>().is_ok() {
        return Ok(client.approval(id).await?);
    }
    let query = ApprovalsQuery { status: Some(among), limit: Some(100), ..ApprovalsQuery::default() };
    let known = client.approvals(&query).await?.approvals;
    let begins = |approval: &Approval| {
        let wanted = id.to_lowercase();
        approval.approval_id.to_string().starts_with(&wanted)
            || approval.approval_id.simple().to_string().starts_with(&wanted)
    };
    let mut fitting: Vec<Approval> = known.into_iter().filter(begins).collect();
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 if among == ApprovalStatusFilter::Pending => {
            let text =
                format!("no approval that waits begins with {id}\n  see what waits: slipway approval list");
            Err(Missing(text).into())
        }
        0 => {
            let text = format!("no approval begins with {id}\n  see all: slipway approval list --status all");
            Err(Missing(text).into())
        }
        _ => {
            let lines = fitting.iter().map(|approval| format!("\n  {}  {}", short(approval), what(approval)));
            bail!(
                "several approvals begin with {id}; name one by more of its id{}",
                lines.collect::<String>()
            )
        }
    }
}
