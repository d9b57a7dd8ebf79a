//! The program that watches over programs of others: this one, under another name.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

/// The name under which this program is the guardian.
const NAME: &str = "guardian";

/// The guardian: where `SLIPWAY_GUARDIAN` points, else this program by a link in the data folder.
pub(crate) fn guardian(data_dir: &Path) -> anyhow::Result<PathBuf> {
    if let Some(set) = std::env::var_os("SLIPWAY_GUARDIAN").filter(|value| !value.is_empty()) {
        return Ok(set.into());
    }
    let this = std::env::current_exe().context("finding this program's own file")?;
    fs::create_dir_all(data_dir).with_context(|| format!("making {}", data_dir.display()))?;
    let link = data_dir.join(NAME);
    // Made beside and moved, so that there is one at every moment; several servers may do so at once.
    let new = data_dir.join(format!(".{NAME}.{}", std::process::id()));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("removing {}", new.display()));
        }
        _ => {}
    }
    symlink(&this, &new)
        .and_then(|()| fs::rename(&new, &link))
        .with_context(|| format!("making {}", link.display()))?;
    Ok(link)
}

/// Runs as the guardian where this program was started as one.
pub(crate) fn as_guardian() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = arguments.next()?;
    let named = Path::new(&name).file_name().is_some_and(|name| name == NAME);
    // The step in between, which the guardian takes by its own file.
    let between = std::env::args_os().nth(1).is_some_and(|first| first == "--become-for");
    if !named && !between {
        return None;
    }
    let options = match slipway_guardian::Options::parse(arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("guardian: {error}");
            return Some(ExitCode::from(2));
        }
    };
    Some(slipway_guardian::guard(&options).unwrap_or_else(|error| {
        eprintln!("guardian: {error}");
        ExitCode::from(127)
    }))
}
