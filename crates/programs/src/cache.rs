//! Where built programs are kept.

use std::env;
use std::path::PathBuf;

/// The directory that holds what setup builds: `SLIPWAY_CACHE`, else `slipway` in the user's cache directory.
pub fn cache_directory() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("SLIPWAY_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("slipway")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/slipway")))
        .unwrap_or_else(|| env::temp_dir().join("slipway-cache"))
}
