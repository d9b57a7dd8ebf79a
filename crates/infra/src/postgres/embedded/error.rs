//! Why there is no server of our own.

use std::io;
use std::path::{Path, PathBuf};

/// Why the server cannot be made or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// PostgreSQL is not on this machine.
    #[error(
        "PostgreSQL 15 or newer is not on this machine; install it (Debian, Ubuntu: apt install postgresql), \
         set SLIPWAY_PG_BIN to the folder of its programs, or use a server that runs elsewhere: --database-url"
    )]
    Missing,
    /// A file or folder does not do what it should.
    #[error("could not {doing} {path}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// We are root, and there is nobody else to be.
    #[error(
        "PostgreSQL does not run as root, and this machine has no user postgres or nobody; make one with: \
         adduser --system postgres"
    )]
    NoUser,
    /// The user that PostgreSQL runs as cannot get to its folder.
    #[error(
        "PostgreSQL runs as user {user} here, which cannot enter {closed}; choose a folder that it can reach, \
         such as /var/lib/slipway: --data-dir"
    )]
    Unreachable {
        /// Who.
        user: &'static str,
        /// The folder that is closed.
        closed: PathBuf,
    },
    /// Unix sockets have short names.
    #[error(
        "{path} is too long for a Unix socket, which may have {most} bytes; choose a shorter folder: --data-dir"
    )]
    TooLong {
        /// The socket.
        path: PathBuf,
        /// How many bytes it may have.
        most: usize,
    },
    /// Another server of ours has it.
    #[error(
        "another Slipway server (process {process}) uses {folder}; stop it, choose another folder with \
         --data-dir, or let both use one PostgreSQL server: --database-url"
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The other's process id.
        process: String,
    },
    /// The data is of another PostgreSQL.
    #[error(
        "the data in {folder} is of PostgreSQL {data}, and this machine has PostgreSQL {programs}; install \
         PostgreSQL {data} beside it (Debian, Ubuntu: apt install postgresql-{data}) and start again; to move \
         to {programs}, run then: slipway db backup FILE, put {folder} away, and: slipway db restore FILE"
    )]
    OtherMajor {
        /// The folder.
        folder: PathBuf,
        /// The data's.
        data: String,
        /// The machine's.
        programs: String,
    },
    /// The password of a server that is there is gone.
    #[error(
        "{0} holds the password of the PostgreSQL server beside it, and is gone; restore it from a backup"
    )]
    PasswordGone(PathBuf),
    /// A program failed.
    #[error("{program} failed; it said: {said}")]
    Failed {
        /// Which.
        program: &'static str,
        /// What it said.
        said: String,
    },
    /// Nothing to talk to after a long time.
    #[error("PostgreSQL did not answer within {seconds} s; its log is in {log}")]
    Silent {
        /// How long it was waited.
        seconds: u64,
        /// Where to look.
        log: PathBuf,
    },
    /// A server that should be ending does not.
    #[error("the PostgreSQL server of an earlier start (process {0}) does not end")]
    Predecessor(u32),
    /// The server does not let us.
    #[error("PostgreSQL refused")]
    Refused(#[source] sqlx::Error),
}

impl EmbeddedError {
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}
