//! Removing what a program leaves on disk and among the control groups.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Removes a file or a directory with everything below it, trying again while others still write.
///
/// A mount below it is never crossed into: a bind mount of the host's files must not be emptied.
pub(crate) fn remove_path(path: &Path, patience: Duration) -> std::io::Result<()> {
    let end = Instant::now() + patience;
    loop {
        let removed = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => Err(error),
            Ok(metadata) if metadata.is_dir() => {
                if let Some(mount) = mount_below(path) {
                    Err(std::io::Error::other(format!("{} is still mounted", mount.display())))
                } else {
                    fs::remove_dir_all(path)
                }
            }
            Ok(_) => fs::remove_file(path),
        };
        match removed {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn mount_below(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(PathBuf::from)
        .find(|mount| mount.starts_with(&path))
}

/// Removes a control group and those below it in every hierarchy (version 1 and 2).
pub(crate) fn remove_cgroup(name: &str, patience: Duration) -> std::io::Result<()> {
    let name = name.trim_matches('/');
    if name.is_empty() || name.split('/').any(|part| part == "..") {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "not the name of a control group"));
    }
    let root = Path::new("/sys/fs/cgroup");
    let mut groups = vec![root.join(name)];
    groups.extend(
        fs::read_dir(root).into_iter().flatten().flatten().map(|hierarchy| hierarchy.path().join(name)),
    );
    let end = Instant::now() + patience;
    for group in groups {
        loop {
            match remove_group(&group) {
                Ok(()) => break,
                Err(error) if Instant::now() > end => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
    Ok(())
}

fn remove_group(group: &Path) -> std::io::Result<()> {
    let Ok(entries) = fs::read_dir(group) else { return Ok(()) };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path())?;
        }
    }
    // The files of a control group are the kernel's; removing the directory is enough.
    match fs::remove_dir(group) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_everything_in_it_and_a_missing_one_is_no_error() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("a/b");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        remove_path(&scratch.path().join("a"), Duration::ZERO).unwrap();
        assert!(!scratch.path().join("a").exists());
        remove_path(&scratch.path().join("a"), Duration::ZERO).unwrap();
    }

    #[test]
    fn a_mounted_directory_is_left_alone() {
        let error = remove_path(Path::new("/proc"), Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "/proc is still mounted");
    }

    #[test]
    fn only_a_named_control_group_is_removed() {
        for name in ["", "/", "../..", "a/../.."] {
            assert_eq!(
                remove_cgroup(name, Duration::ZERO).unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{name}"
            );
        }
        remove_cgroup("slipway-no-such-group", Duration::ZERO).unwrap();
    }
}
