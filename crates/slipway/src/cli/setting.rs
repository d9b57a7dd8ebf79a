//! `slipway setting`.

use clap::Subcommand;
use slipway_contract::settings::{KindQuery, SettingList};

use super::{Format, Session, ago, print, table};

/// Policies, approval rules, windows and values.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingCommand {
    /// List them.
    List {
        /// Only this kind: Policy, `ApprovalRule`, Window or Values.
        #[arg(long)]
        kind: Option<String>,
    },
    /// Show one, as YAML.
    Show {
        /// Its kind: Policy, `ApprovalRule`, Window or Values.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Remove one.
    Remove {
        /// Its kind: Policy, `ApprovalRule`, Window or Values.
        kind: String,
        /// Its name.
        name: String,
    },
}

impl SettingCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::List { kind } => {
                let list = session.client.settings(&KindQuery { kind }).await?;
                session.show(&list, |list| people(list, session.now))
            }
            Self::Show { kind, name } => {
                let setting = session.client.setting(&kind, &name).await?;
                let format = if session.format == Format::Json { Format::Json } else { Format::Yaml };
                print(&format.render(&setting, |_| String::new())?)
            }
            Self::Remove { kind, name } => {
                session.client.remove_setting(&kind, &name).await?;
                session.say(&format!("removed the {kind} {name}"))
            }
        }
    }
}

fn people(list: &SettingList, now: jiff::Timestamp) -> String {
    let rows = list.settings.iter().map(|setting| {
        vec![(&setting.kind).into(), (&setting.name).into(), ago(setting.updated_at, now).into()]
    });
    table(&["KIND", "NAME", "CHANGED"], rows, "no settings; make some: slipway apply -f FILE")
}
