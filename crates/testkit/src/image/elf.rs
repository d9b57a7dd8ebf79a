//! Which loader and libraries a program needs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// The kind of program header that names the loader.
const INTERPRETER: u32 = 3;

/// The loader and the libraries of a program, as absolute paths; none when it is linked statically.
pub(super) fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let Some(loader) = loader(program)? else { return Ok(Vec::new()) };
    let output = Command::new(&loader)
        .arg("--list")
        .arg(program)
        .output()
        .with_context(|| format!("running the loader {}", loader.display()))?;
    if !output.status.success() {
        bail!("{} lacks a library: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut found = parse_list(&String::from_utf8_lossy(&output.stdout));
    // The kernel opens the loader by exactly the path that the program names.
    found.push(loader);
    found.sort();
    found.dedup();
    Ok(found)
}

/// Reads lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`.
fn parse_list(list: &str) -> Vec<PathBuf> {
    list.lines()
        .filter_map(|line| {
            let path = line.split_once("=>").map_or(line, |(_, path)| path).trim();
            let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
            path.starts_with('/').then(|| PathBuf::from(path))
        })
        .collect()
}

/// The path of the loader that a 64-bit little-endian ELF program names.
fn loader(program: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut file = File::open(program).with_context(|| format!("reading {}", program.display()))?;
    let mut header = [0; 64];
    file.read_exact(&mut header).with_context(|| format!("{} is no program", program.display()))?;
    ensure!(header.starts_with(b"\x7fELF\x02\x01"), "{} is no 64-bit ELF program", program.display());
    let (table, size, count) = (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2));
    for index in 0..count {
        let mut entry = [0; 56];
        file.seek(SeekFrom::Start(table + index * size))?;
        file.read_exact(&mut entry)?;
        if number(&entry, 0, 4) == u64::from(INTERPRETER) {
            let (offset, length) = (number(&entry, 8, 8), number(&entry, 32, 8));
            ensure!(length < 4096, "{} names no sensible loader", program.display());
            let mut name = Vec::new();
            file.seek(SeekFrom::Start(offset))?;
            file.take(length).read_to_end(&mut name)?;
            let name = String::from_utf8(name).context("the loader's path is no text")?;
            return Ok(Some(PathBuf::from(name.trim_end_matches('\0'))));
        }
    }
    Ok(None)
}

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_libraries_is_read_with_and_without_arrows() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f01)\n\
                    \t/lib64/ld-linux-x86-64.so.2 => /usr/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        let paths = parse_list(list);
        assert_eq!(
            paths,
            [
                "/lib/x86_64-linux-gnu/libc.so.6",
                "/usr/lib64/ld-linux-x86-64.so.2",
                "/lib64/ld-linux-x86-64.so.2"
            ]
            .map(PathBuf::from)
        );
    }

    #[test]
    fn a_program_of_this_machine_has_a_loader_and_a_c_library() {
        let libraries = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert!(libraries.iter().any(|path| path.to_string_lossy().contains("ld-linux")), "{libraries:?}");
        assert!(libraries.iter().any(|path| path.ends_with("libc.so.6")), "{libraries:?}");
        assert!(libraries.iter().all(|path| path.is_file()), "{libraries:?}");
    }

    #[test]
    fn what_is_no_program_is_refused_by_name() {
        let error = libraries(Path::new("/etc/passwd")).unwrap_err();
        assert_eq!(error.to_string(), "/etc/passwd is no 64-bit ELF program");
    }
}
