//! What a cluster allows.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::reference::{ImageReference, ReferenceError, is_host, is_path};

/// What a cluster allows: a preset, and what differs from it.
///
/// ```
/// use slipway_application_operator::policy::{Profile, Reaction};
///
/// let profile: Profile = serde_json::from_str(r#"{"preset": "strict", "maxReplicas": 10}"#)?;
/// assert_eq!(profile.max_replicas, 10);
/// assert_eq!(profile.require_limits, Reaction::Deny);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Profile {
    /// Where images may come from.
    pub allowed_registries: Vec<Registry>,
    /// Images that may not run, whatever their tag.
    pub blocked_images: Vec<Blocked>,
    /// The most replicas of one Application.
    pub max_replicas: u32,
    /// What to do about missing limits.
    pub require_limits: Reaction,
    /// What to do about images whose tag is `latest`, or that have neither tag nor digest.
    pub latest_tag: Reaction,
}

/// A starting point for a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Two registries, no bare distributions as images, warnings about the rest.
    #[default]
    Default,
    /// The same, and what the default warns about is refused.
    Strict,
    /// Every image from everywhere; warnings only.
    Permissive,
}

/// What to do about something unwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// Nothing.
    Off,
    /// Say so.
    Warn,
    /// Refuse it.
    Deny,
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No registry is allowed.
    #[error("allowedRegistries is empty, so that no image could run; write [\"*\"] to allow every registry")]
    NoRegistry,
    /// A registry is none.
    #[error(
        "allowedRegistries: {0:?} is no registry; write a host such as gcr.io, one with a path such as gcr.io/team, or *"
    )]
    Registry(String),
    /// A blocked image is none.
    #[error("blockedImages: {text:?} is no image; write one such as ubuntu or docker.io/library/ubuntu")]
    Blocked {
        /// What is written.
        text: String,
        /// What is wrong with it.
        source: ReferenceError,
    },
    /// More replicas than the schema allows.
    #[error("maxReplicas is {0}; the definition of Applications allows 0 to 100")]
    Replicas(u32),
}

/// A registry, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// None for every registry.
    place: Option<(String, Option<String>)>,
}

/// An image that may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    image: ImageReference,
}

/// As it is written: everything may be left out.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Settings {
    preset: Preset,
    allowed_registries: Option<Vec<String>>,
    blocked_images: Option<Vec<String>>,
    max_replicas: Option<u32>,
    require_limits: Option<Reaction>,
    latest_tag: Option<Reaction>,
}

const MOST_REPLICAS: u32 = 100;

impl Default for Profile {
    fn default() -> Profile {
        Profile::preset(Preset::Default)
    }
}

impl Profile {
    /// A preset as it is.
    pub fn preset(preset: Preset) -> Profile {
        let hosts: &[&str] = if preset == Preset::Permissive { &[] } else { &["gcr.io", "docker.io"] };
        let images: &[&str] =
            if preset == Preset::Permissive { &[] } else { &["ubuntu", "debian", "alpine"] };
        let mut registries: Vec<Registry> =
            hosts.iter().map(|host| Registry { place: Some(((*host).to_owned(), None)) }).collect();
        if registries.is_empty() {
            registries.push(Registry { place: None });
        }
        let reaction = if preset == Preset::Strict { Reaction::Deny } else { Reaction::Warn };
        Profile {
            allowed_registries: registries,
            blocked_images: images
                .iter()
                .map(|name| Blocked { image: ImageReference::official(name) })
                .collect(),
            max_replicas: MOST_REPLICAS,
            require_limits: reaction,
            latest_tag: reaction,
        }
    }
}

impl TryFrom<Settings> for Profile {
    type Error = ProfileError;

    fn try_from(settings: Settings) -> Result<Profile, ProfileError> {
        let mut profile = Profile::preset(settings.preset);
        if let Some(registries) = settings.allowed_registries {
            if registries.is_empty() {
                return Err(ProfileError::NoRegistry);
            }
            profile.allowed_registries =
                registries.iter().map(|text| Registry::parse(text)).collect::<Result<_, _>>()?;
        }
        if let Some(images) = settings.blocked_images {
            profile.blocked_images =
                images.iter().map(|text| Blocked::parse(text)).collect::<Result<_, _>>()?;
        }
        if let Some(most) = settings.max_replicas {
            if most > MOST_REPLICAS {
                return Err(ProfileError::Replicas(most));
            }
            profile.max_replicas = most;
        }
        profile.require_limits = settings.require_limits.unwrap_or(profile.require_limits);
        profile.latest_tag = settings.latest_tag.unwrap_or(profile.latest_tag);
        Ok(profile)
    }
}

impl Registry {
    fn parse(text: &str) -> Result<Registry, ProfileError> {
        if text == "*" {
            return Ok(Registry { place: None });
        }
        let wrong = || ProfileError::Registry(text.to_owned());
        let (host, path) = text.split_once('/').map_or((text, None), |(host, path)| (host, Some(path)));
        if !is_host(host) || path.is_some_and(|path| !is_path(path)) {
            return Err(wrong());
        }
        let host = super::reference::normal_host(host);
        Ok(Registry { place: Some((host, path.map(str::to_owned))) })
    }

    /// Whether an image comes from here. A path counts whole: `gcr.io/team` does not hold `gcr.io/teamwork/x`.
    pub fn holds(&self, image: &ImageReference) -> bool {
        let Some((host, path)) = &self.place else { return true };
        let beneath = |path: &String| {
            image
                .repository()
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        image.registry() == host && path.as_ref().is_none_or(beneath)
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            None => f.write_str("*"),
            Some((host, None)) => f.write_str(host),
            Some((host, Some(path))) => write!(f, "{host}/{path}"),
        }
    }
}

impl Blocked {
    fn parse(text: &str) -> Result<Blocked, ProfileError> {
        let wrong = |source| ProfileError::Blocked { text: text.to_owned(), source };
        Ok(Blocked { image: text.parse().map_err(wrong)? })
    }

    /// Whether it is this image: any tag and digest of it, or the one that is named.
    pub fn covers(&self, image: &ImageReference) -> bool {
        let same = |mine: Option<&str>, other: Option<&str>| mine.is_none() || mine == other;
        self.image.registry() == image.registry()
            && self.image.repository() == image.repository()
            && same(self.image.tag(), image.tag())
            && same(self.image.digest(), image.digest())
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.image.fmt(f)
    }
}
