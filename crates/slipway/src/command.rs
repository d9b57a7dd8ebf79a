//! The commands and their arguments.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cli::{
    self, Apply, ApprovalCommand, AuditCommand, ClusterCommand, Completion, Connection, ContextCommand,
    Deploy, DeploymentCommand, Diff, Export, HealthCommand, LoginCommand, LogoutCommand, OperatorCommand,
    RolesCommand, Served, SettingCommand, TokenCommand, Uninstall, Unmanage, UserCommand, VersionCommand,
    WhoamiCommand,
};
use crate::config::ConfigCommand;
use crate::crd::CrdCommand;
use crate::db::DbCommand;
use crate::serve::ServeCommand;

/// Roll Kubernetes operators out across a fleet of clusters, safely.
#[derive(Debug, Parser)]
#[command(
    name = "slipway",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = cli::EXIT_CODES
)]
pub struct Slipway {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge changes of CustomResourceDefinitions: what breaks, for whom, and whether one can go back.
    Crd {
        #[command(subcommand)]
        command: CrdCommand,
    },
    /// Run the server.
    Serve(Box<ServeCommand>),
    /// Look at the server's settings without starting it.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Back up and restore the server's own database.
    Db {
        #[command(subcommand)]
        command: DbCommand,
    },
    /// See and change the clusters that operators are rolled out to.
    Cluster(Served<ClusterCommand>),
    Deploy(Box<Deploy>),
    /// See how far deployments are, and steer them.
    Deployment(Served<DeploymentCommand>),
    Uninstall(Uninstall),
    Unmanage(Unmanage),
    /// See and make decisions that deployments wait for.
    Approval(Served<ApprovalCommand>),
    /// Register operators, see their versions, and adopt what is installed.
    Operator(Served<OperatorCommand>),
    /// Show how all operators are, the worst first.
    Health(HealthCommand),
    /// Make things as files want them: all of it, or nothing.
    Apply(Apply),
    /// Say what applying files would change.
    ///
    /// Exit code: 0 nothing, 1 something, above that as for every command.
    Diff(Diff),
    /// Print everything that can be kept in files; applying it changes nothing.
    Export(Export),
    /// Look at policies, approval rules, windows and values, and remove them; slipway apply makes them.
    Setting(Served<SettingCommand>),
    /// See and export what was done, by whom.
    Audit(Served<AuditCommand>),
    Login(LoginCommand),
    Logout(LogoutCommand),
    Whoami(WhoamiCommand),
    /// See, make, change and disable people.
    User(Served<UserCommand>),
    /// See, make and revoke tokens for machines.
    Token(Served<TokenCommand>),
    Roles(RolesCommand),
    /// Choose among the servers that you work with.
    Context(Served<ContextCommand>),
    /// Print the versions of this program and of the server.
    Version(VersionCommand),
    /// Print the completion of a shell; in bash: source <(slipway completion bash).
    Completion(Completion),
}

impl Slipway {
    /// Runs the command. What the exit code means is in the help.
    pub fn run(self) -> ExitCode {
        let connection = self.connection;
        let outcome = match self.command {
            Command::Serve(command) => command.run(),
            Command::Config { command } => done(command.run()),
            Command::Db { command } => done(command.run()),
            Command::Cluster(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Deploy(deploy) => {
                connection.run_to_code(deploy.output, async |session| deploy.run(session).await)
            }
            Command::Deployment(served) => {
                connection.run_to_code(served.output, async |session| served.command.run(session).await)
            }
            Command::Uninstall(command) => {
                connection.run(command.output, async |session| command.run(session).await)
            }
            Command::Unmanage(command) => {
                connection.run(command.output, async |session| command.run(session).await)
            }
            Command::Approval(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Operator(served) => {
                let command = served.command;
                connection.run(served.output, async |session| command.run(session).await)
            }
            Command::Health(command) => {
                connection.run(command.output, async |session| command.run(session).await)
            }
            Command::Crd { command } => command.run(&connection),
            Command::Apply(apply) => apply.run(&connection),
            Command::Diff(diff) => diff.run(&connection),
            Command::Export(export) => export.run(&connection),
            Command::Setting(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Audit(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Login(command) => command.run(&connection),
            Command::Logout(command) => command.run(&connection),
            Command::Whoami(command) => connection.run(command.output, WhoamiCommand::run),
            Command::User(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Token(served) => {
                connection.run(served.output, async |session| served.command.run(session).await)
            }
            Command::Roles(command) => done(command.run()),
            Command::Context(served) => done(served.command.run(served.output.format)),
            Command::Version(command) => connection.run(command.output, VersionCommand::run),
            Command::Completion(completion) => done(completion.run()),
        };
        outcome.unwrap_or_else(|error| cli::report(&error))
    }
}

fn done(outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    outcome.map(|()| ExitCode::SUCCESS)
}
