//! Image references, read as container runtimes read them.
//!
//! `nginx`, `docker.io/nginx` and `index.docker.io/library/nginx` are one image. Rules are decided on the
//! normal form, so that no spelling goes around them; what no runtime could read is refused here.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The registry of references that name none.
const HUB: &str = "docker.io";

/// Other names of the same registry.
const HUB_NAMES: [&str; 3] = ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];

/// Where the registry keeps images without an owner.
const OFFICIAL: &str = "library";

/// Longest registry and repository together.
const LONGEST: usize = 255;

/// A reference to an image, in normal form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// A text that is no reference.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// There is a blank in it.
    #[error("it has a blank in it")]
    Blank,
    /// The repository has capital letters.
    #[error("{0:?} must be written in small letters")]
    Capitals(String),
    /// The registry is no host.
    #[error("{0:?} is no registry; write a host such as gcr.io or localhost:5000")]
    Registry(String),
    /// The repository is none.
    #[error(
        "{0:?} is no repository; its parts are small letters and digits, with single '.', '_', '__' or '-' between"
    )]
    Repository(String),
    /// The tag is none.
    #[error(
        "{0:?} is no tag; it has up to 128 letters, digits, '_', '.' and '-' and begins with none of the last two"
    )]
    Tag(String),
    /// The digest is none.
    #[error("{0:?} is no digest; write sha256: and 64 hexadecimal digits")]
    Digest(String),
    /// It could be taken for the id of an image.
    #[error("64 hexadecimal digits are an id, not a name")]
    Id,
    /// The name is too long.
    #[error("registry and repository have more than {LONGEST} characters")]
    TooLong,
}

impl ImageReference {
    /// An image of Docker Hub that has no owner.
    pub(super) fn official(name: &str) -> ImageReference {
        ImageReference {
            registry: HUB.to_owned(),
            repository: format!("{OFFICIAL}/{name}"),
            tag: None,
            digest: None,
        }
    }

    /// The host, and its port where that is not 443.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name within the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, where one is written.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, where one is written. It decides what runs; a tag beside it does not.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }
}

impl FromStr for ImageReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<ImageReference, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if text.chars().any(char::is_whitespace) {
            return Err(ReferenceError::Blank);
        }
        let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
        if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
            return Err(ReferenceError::Digest(digest.to_owned()));
        }
        if digest.is_none() && rest.len() == 64 && rest.bytes().all(is_hex) {
            return Err(ReferenceError::Id);
        }
        let (host, path) = split_host(rest);
        // A colon before the last slash is a port's, so the tag is looked for in the path.
        let (path, tag) = path.split_once(':').map_or((path, None), |(path, tag)| (path, Some(tag)));
        if let Some(host) = host.filter(|host| !is_host(host)) {
            return Err(ReferenceError::Registry(host.to_owned()));
        }
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(ReferenceError::Capitals(path.to_owned()));
        }
        if !is_path(path) {
            return Err(ReferenceError::Repository(path.to_owned()));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        let registry = normal_host(host.unwrap_or(HUB));
        let official = registry == HUB && !path.contains('/');
        let repository = if official { format!("{OFFICIAL}/{path}") } else { path.to_owned() };
        if registry.len() + 1 + repository.len() > LONGEST {
            return Err(ReferenceError::TooLong);
        }
        Ok(ImageReference {
            registry,
            repository,
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }
}

impl fmt::Display for ImageReference {
    /// The normal form, which is read as the same reference. A tag that was not written is not made up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// The host, when the first part can be nothing else, and the rest.
fn split_host(text: &str) -> (Option<&str>, &str) {
    let Some((first, rest)) = text.split_once('/') else { return (None, text) };
    let host = first.contains(['.', ':'])
        || first == "localhost"
        || first.bytes().any(|byte| byte.is_ascii_uppercase());
    if host { (Some(first), rest) } else { (None, text) }
}

/// A host in small letters, without the port that is meant anyway, and Docker Hub by its one name.
pub(super) fn normal_host(host: &str) -> String {
    let lower = host.to_ascii_lowercase();
    let host = lower.strip_suffix(":443").unwrap_or(&lower);
    if HUB_NAMES.contains(&host) { HUB.to_owned() } else { host.to_owned() }
}

pub(super) fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((address, after)) = rest.split_once(']') else { return false };
            let ok = !address.is_empty() && address.bytes().all(|byte| is_hex(byte) || byte == b':');
            return ok && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port));
        }
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Whether it is a repository: parts between slashes.
pub(super) fn is_path(text: &str) -> bool {
    text.split('/').all(is_part)
}

/// Small letters and digits, with `.`, `_`, `__` or dashes between them.
fn is_part(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(|byte| alphanumeric(*byte));
    if !ends(bytes.first()) || !ends(bytes.last()) {
        return false;
    }
    bytes.split(|byte| alphanumeric(*byte)).all(|between| {
        matches!(between, b"" | b"." | b"_" | b"__") || between.iter().all(|byte| *byte == b'-')
    })
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

/// The algorithms that registries know, with the digits each has.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, digits)) = text.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    digits.len() == length && digits.bytes().all(|byte| is_hex(byte) && !byte.is_ascii_uppercase())
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
