//! Describing an image piece by piece.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::layer::{Entry, Layer};
use super::{Image, Settings, elf};

/// Where a program of ours is in an image.
const PROGRAMS: &str = "/usr/local/bin";

/// The user without rights that images run as, as distroless images number it.
const NONROOT: &str = "65532";

/// Commands of busybox that are useful in a test.
const COMMANDS: &[&str] = &[
    "cat", "echo", "env", "false", "grep", "hostname", "id", "ip", "kill", "ls", "mkdir", "nc", "nslookup",
    "ps", "rm", "sh", "sleep", "tail", "touch", "true", "wget",
];

/// An image while it is being described.
#[derive(Debug, Clone)]
pub struct ImageBuilder {
    reference: String,
    layer: Layer,
    settings: Settings,
}

impl ImageBuilder {
    pub(super) fn new(reference: &str) -> Self {
        let mut layer = Layer::default();
        for path in ["dev", "proc", "sys"] {
            layer.put(path, Entry::Directory { mode: 0o755 });
        }
        layer.put("tmp", Entry::Directory { mode: 0o1777 });
        for (path, content) in [
            ("etc/passwd", "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/tmp:/bin/sh\n"),
            ("etc/group", "root:x:0:\nnonroot:x:65532:\n"),
            ("etc/nsswitch.conf", "hosts: files dns\n"),
        ] {
            layer.put(path, Entry::Bytes { content: content.into(), mode: 0o644 });
        }
        // What programs trust outside the cluster, where this machine has a list of its own.
        let authorities = PathBuf::from("/etc/ssl/certs/ca-certificates.crt");
        if authorities.is_file() {
            layer.put(authorities.clone(), Entry::Copy { from: authorities, mode: 0o644 });
        }
        let path = format!("{PROGRAMS}:/usr/bin:/bin");
        let mut environment = vec![("PATH".into(), path)];
        if std::env::var_os("LLVM_PROFILE_FILE").is_some() {
            // Programs that count their lines have no place to write that to in a container.
            environment.push(("LLVM_PROFILE_FILE".into(), "/dev/null".into()));
        }
        let settings = Settings { entrypoint: Vec::new(), environment, user: format!("{NONROOT}:{NONROOT}") };
        Self { reference: reference.to_owned(), layer, settings }
    }

    /// Adds a program with the loader and the libraries it needs. The first one is what a container runs.
    pub fn program(mut self, program: impl AsRef<Path>) -> anyhow::Result<Self> {
        let program = program.as_ref();
        let name = program.file_name().and_then(|name| name.to_str()).context("the program has no name")?;
        for library in elf::libraries(program)? {
            self.layer.put(library.clone(), Entry::Copy { from: library, mode: 0o755 });
        }
        let path = format!("{PROGRAMS}/{name}");
        self.layer.put(&path, Entry::Copy { from: program.to_owned(), mode: 0o755 });
        if self.settings.entrypoint.is_empty() {
            self.settings.entrypoint = vec![path];
        }
        Ok(self)
    }

    /// Adds a shell and small commands: a static busybox of this machine.
    #[must_use]
    pub fn busybox(mut self, busybox: impl AsRef<Path>) -> Self {
        self.layer.put("bin/busybox", Entry::Copy { from: busybox.as_ref().to_owned(), mode: 0o755 });
        for command in COMMANDS {
            self.layer.put(format!("bin/{command}"), Entry::Link { target: "busybox".into() });
        }
        self
    }

    /// Adds a file with this content.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.layer.put(path, Entry::Bytes { content: content.into(), mode: 0o644 });
        self
    }

    /// Sets an environment variable of its containers.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.settings.environment.retain(|(known, _)| known != name);
        self.settings.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What a container runs, with its first arguments.
    #[must_use]
    pub fn entrypoint<A: Into<String>>(mut self, command: impl IntoIterator<Item = A>) -> Self {
        self.settings.entrypoint = command.into_iter().map(Into::into).collect();
        self
    }

    /// The user that a container runs as, such as `0:0`.
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        user.clone_into(&mut self.settings.user);
        self
    }

    /// The image.
    #[must_use]
    pub fn build(self) -> Image {
        Image { reference: self.reference, layer: self.layer, settings: self.settings }
    }
}
