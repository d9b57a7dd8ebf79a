//! What every command that talks to a server shares: where the server is, who asks, how answers and
//! failures are printed.
//!
//! A resource's commands are in `cli/<resource>.rs`. They get a [`Session`], call one method of its client,
//! and print with [`Session::show`]; errors go up with `?` and become words in [`failure`].

mod apply;
mod approval;
mod audit;
mod cluster;
mod completion;
mod context;
mod deploy;
mod deployment;
mod duration;
mod failure;
mod health;
mod login;
mod operator;
mod output;
mod relative;
mod roles;
mod session;
mod setting;
mod table;
mod token;
mod uninstall;
mod user;
mod version;

pub(crate) use apply::{Apply, Diff, Export};
pub(crate) use approval::ApprovalCommand;
pub(crate) use audit::AuditCommand;
pub(crate) use cluster::ClusterCommand;
pub(crate) use completion::Completion;
pub(crate) use context::ContextCommand;
pub(crate) use deploy::Deploy;
pub(crate) use deployment::DeploymentCommand;
pub(crate) use health::HealthCommand;
pub(crate) use login::{LoginCommand, LogoutCommand, WhoamiCommand};
pub(crate) use operator::OperatorCommand;
pub(crate) use roles::RolesCommand;
pub(crate) use setting::SettingCommand;
pub(crate) use token::TokenCommand;
pub(crate) use uninstall::{Uninstall, Unmanage};
pub(crate) use user::UserCommand;
pub(crate) use version::VersionCommand;
#[allow(unused_imports, reason = "the words that commands of resources are written with")]
pub(crate) use {
    context::{Context, Contexts},
    failure::{EXIT_CODES, Failure, report},
    output::{Format, OutputArgs, print},
    relative::{ago, until},
    session::{Connection, Served, Session},
    table::{Cell, Tone, facts, table},
};
