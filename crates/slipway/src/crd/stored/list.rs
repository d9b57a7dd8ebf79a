//! `slipway crd list`.

use clap::Args;
use slipway_contract::crds::{CrdList, CrdsQuery};

use super::{approval, status};
use crate::cli::{OutputArgs, Session, table};

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only of this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only with this status: active, deprecated or removed.
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let mut query = CrdsQuery {
            operator_name: self.operator,
            status: self.status,
            limit: Some(100),
            offset: Some(0),
        };
        let mut all = session.client.crds(&query).await?;
        while let Some(next) = all.page.next_offset {
            query.offset = i64::try_from(next).ok();
            let more = session.client.crds(&query).await?;
            all.crds.extend(more.crds);
            all.page = more.page;
        }
        session.show(&all, people)
    }
}

fn people(list: &CrdList) -> String {
    let rows = list.crds.iter().map(|crd| {
        vec![
            (&crd.name).into(),
            (&crd.operator_name).into(),
            (&crd.operator_version).into(),
            (&crd.schema_version).into(),
            status(&crd.status),
            approval(&crd.approval_status),
        ]
    });
    table(
        &["NAME", "OPERATOR", "VERSION", "SCHEMA", "STATUS", "APPROVAL"],
        rows,
        "no CRDs; they come with an operator: slipway operator add",
    )
}
