//! `cargo xtask setup`: makes a bare machine ready, and does nothing on one that is.

mod build;
mod debian;
mod go;
mod schemathesis;

use std::time::Instant;

use anyhow::bail;
use slipway_programs::{Purpose, RECIPES, Recipe, cache_directory};

use crate::progress::minutes;

/// What setup is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The oldest supported Kubernetes too.
    pub(crate) oldest: bool,
    /// What measurements put beside our own programs too.
    pub(crate) measurements: bool,
}

impl Wanted {
    /// Reads the command's own words.
    pub(crate) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let mut wanted = Self::default();
        for word in words {
            match *word {
                "--oldest" => wanted.oldest = true,
                unknown => bail!("setup has no option {unknown:?}; it takes --oldest"),
            }
        }
        Ok(wanted)
    }

    fn includes(&self, recipe: &Recipe) -> bool {
        match recipe.purpose {
            Purpose::Tests => true,
            Purpose::Oldest => self.oldest,
            Purpose::Measurements => self.measurements,
        }
    }
}

/// Installs and builds what is missing.
pub(crate) fn setup(wanted: &Wanted) -> anyhow::Result<()> {
    let started = Instant::now();
    let missing = debian::missing();
    let recipes: Vec<&Recipe> =
        RECIPES.iter().filter(|recipe| wanted.includes(recipe) && !recipe.is_built()).collect();
    if missing.is_empty() && recipes.is_empty() {
        schemathesis::install();
        return Ok(());
    }
    eprintln!("Setting this machine up; programs go to {}", cache_directory().display());
    debian::install(&missing)?;
    if !recipes.is_empty() {
        let go = go::ready()?;
        for recipe in recipes {
            build::build(&go, recipe)?;
        }
    }
    schemathesis::install();
    eprintln!("This machine is ready ({}).", minutes(started.elapsed()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_measured_is_built_only_for_measurements() {
        let recipe = Recipe::named("controller-runtime").unwrap();
        assert!(!Wanted { oldest: true, measurements: false }.includes(recipe));
        assert!(Wanted { oldest: false, measurements: true }.includes(recipe));
        assert!(Wanted::default().includes(Recipe::named("kubernetes").unwrap()));
    }

    #[test]
    fn an_unknown_option_is_named() {
        assert_eq!(Wanted::parse(&["--oldest"]).unwrap(), Wanted { oldest: true, measurements: false });
        let error = Wanted::parse(&["--eldest"]).unwrap_err();
        assert_eq!(error.to_string(), "setup has no option \"--eldest\"; it takes --oldest");
    }
}
