//! The folder of a server: data, socket, password, log, and the lock that makes it one server's.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::rand;
use rustix::fs::{FlockOperation, flock};
use zeroize::Zeroizing;

use super::error::EmbeddedError;
use super::owner::Owner;
use super::programs::Programs;

/// What the kernel gives the name of a Unix socket, less the byte at its end.
const LONGEST_SOCKET: usize = 107;

#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

/// Held for as long as this process lives, however it ends.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "what counts is that it is open")] File);

impl Folder {
    /// Makes the folder where there is none, for the owner alone.
    pub(super) fn prepare(path: &Path, owner: &Owner) -> Result<Self, EmbeddedError> {
        let make = |path: &Path, mode| {
            DirBuilder::new()
                .recursive(true)
                .mode(mode)
                .create(path)
                .map_err(EmbeddedError::file("make", path))
        };
        if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
            make(parent, 0o755)?;
        }
        make(path, 0o700)?;
        let path = path.canonicalize().map_err(EmbeddedError::file("look at", path))?;
        owner.give(&path)?;
        owner.reaches(&path)?;
        let folder = Self(path);
        let socket = folder.sockets().join(".s.PGSQL.5432");
        if socket.as_os_str().len() > LONGEST_SOCKET {
            return Err(EmbeddedError::TooLong { path: socket, most: LONGEST_SOCKET });
        }
        for inner in [folder.sockets(), folder.log()] {
            make(&inner, 0o700)?;
            owner.give(&inner)?;
        }
        Ok(folder)
    }

    /// A folder that is there already; nothing is made.
    pub(super) fn at(path: &Path) -> Self {
        Self(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Where a server is made: it becomes the data when it is whole.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.0.join("data.new")
    }

    pub(super) fn sockets(&self) -> PathBuf {
        self.0.join("run")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    pub(super) fn password_file(&self) -> PathBuf {
        self.0.join("password")
    }

    /// The address of a database.
    pub(super) fn url(&self, database: &str, password: &str) -> Zeroizing<String> {
        let sockets = self.sockets();
        let host: String = url::form_urlencoded::byte_serialize(sockets.as_os_str().as_encoded_bytes())
            .collect::<String>()
            .replace('+', "%20");
        Zeroizing::new(format!("postgres://postgres:{password}@{host}:5432/{database}"))
    }

    /// Takes the folder for this process.
    pub(super) fn lock(&self) -> Result<Lock, EmbeddedError> {
        let path = self.0.join("lock");
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(EmbeddedError::file("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut process = String::new();
                let _ = file.read_to_string(&mut process);
                let process = process.trim().to_owned();
                return Err(EmbeddedError::InUse { folder: self.0.clone(), process });
            }
            Err(error) => return Err(EmbeddedError::file("lock", &path)(error.into())),
        }
        let written = (|| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        })();
        written.map_err(EmbeddedError::file("write", &path))?;
        Ok(Lock(file))
    }

    /// The major version of the data; nothing if there is none yet.
    pub(super) fn major(&self) -> Result<Option<String>, EmbeddedError> {
        let path = self.data().join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(version) => Ok(Some(version.trim().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EmbeddedError::file("read", &path)(error)),
        }
    }

    /// The programs for the data that is there.
    pub(super) fn programs(&self) -> Result<Programs, EmbeddedError> {
        let data = self.major()?;
        Programs::find(data.as_deref())?.map_err(|programs| EmbeddedError::OtherMajor {
            folder: self.data(),
            data: data.unwrap_or_default(),
            programs,
        })
    }

    /// The password that is there, or a fresh one for a server that is still to be made.
    pub(super) fn password(&self, owner: &Owner) -> Result<Zeroizing<String>, EmbeddedError> {
        if let Some(password) = self.kept_password()? {
            return Ok(password);
        }
        let path = self.password_file();
        if self.major()?.is_some() {
            return Err(EmbeddedError::PasswordGone(path));
        }
        let mut bytes = Zeroizing::new([0_u8; 32]);
        rand::fill(bytes.as_mut_slice()).map_err(|_| {
            EmbeddedError::file("make a password for", &path)(std::io::Error::other("no randomness"))
        })?;
        let password: Zeroizing<String> =
            Zeroizing::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        let written = (|| {
            // Whole or not at all, and for good before the server that has it is made.
            let new = self.0.join("password.new");
            let mut file =
                OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(password.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)
        })();
        written.map_err(EmbeddedError::file("write", &path))?;
        owner.give(&path)?;
        Ok(password)
    }

    /// The password that is there.
    pub(super) fn kept_password(&self) -> Result<Option<Zeroizing<String>>, EmbeddedError> {
        let path = self.password_file();
        match fs::read_to_string(&path) {
            Ok(password) => Ok(Some(Zeroizing::new(password.trim().to_owned()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EmbeddedError::file("read", &path)(error)),
        }
    }

    /// The process of the server that says it uses the data.
    pub(super) fn server_process(&self) -> Option<u32> {
        fs::read_to_string(self.data().join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
    }

    /// What the server said last, for errors.
    pub(super) fn last_words(&self) -> String {
        let said = fs::read_to_string(self.start_log()).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("; ")
    }

    /// What a server says before it has a log of its own.
    pub(super) fn start_log(&self) -> PathBuf {
        self.log().join("start.log")
    }
}
