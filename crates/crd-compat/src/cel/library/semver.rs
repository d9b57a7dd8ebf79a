//! Semantic versions.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

#[derive(Debug)]
pub(in crate::cel) struct Semver {
    core: [u64; 3],
    pre_release: Vec<String>,
}

impl Semver {
    /// Precedence; build metadata does not count.
    pub(in crate::cel) fn compare(&self, other: &Semver) -> Ordering {
        self.core.cmp(&other.core).then_with(|| {
            match (self.pre_release.is_empty(), other.pre_release.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_pre_releases(&self.pre_release, &other.pre_release),
            }
        })
    }
}

fn compare_pre_releases(left: &[String], right: &[String]) -> Ordering {
    for (a, b) in left.iter().zip(right) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    let part = |version: &Semver, index: usize| {
        let value = version.core.get(index).copied().unwrap_or_default();
        Ok(Val::Int(i64::from_ne_bytes(value.to_ne_bytes())))
    };
    Some(match (name, args) {
        ("isSemver", [Val::Text(text)]) => Ok(Val::Bool(parse(text).is_some())),
        ("isSemver", [Val::Text(text), Val::Bool(loose)]) => Ok(Val::Bool(read(text, *loose).is_some())),
        ("semver", [Val::Text(text)]) => version(parse(text)),
        ("semver", [Val::Text(text), Val::Bool(loose)]) => version(read(text, *loose)),
        ("major", [Val::Semver(version)]) => part(version, 0),
        ("minor", [Val::Semver(version)]) => part(version, 1),
        ("patch", [Val::Semver(version)]) => part(version, 2),
        ("isGreaterThan", [Val::Semver(a), Val::Semver(b)]) => Ok(Val::Bool(a.compare(b).is_gt())),
        ("isLessThan", [Val::Semver(a), Val::Semver(b)]) => Ok(Val::Bool(a.compare(b).is_lt())),
        ("compareTo", [Val::Semver(a), Val::Semver(b)]) => Ok(Val::Int(a.compare(b) as i64)),
        _ => return None,
    })
}

fn version<'a>(parsed: Option<Semver>) -> Eval<Val<'a>> {
    parsed.map_or_else(
        || EvalError::failed("invalid semantic version"),
        |version| Ok(Val::Semver(Rc::new(version))),
    )
}

fn read(text: &str, loose: bool) -> Option<Semver> {
    if loose { parse(&normalize(text)?) } else { parse(text) }
}

fn parse(text: &str) -> Option<Semver> {
    let mut parts = text.splitn(3, '.');
    let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (rest, None),
    };
    let (patch, pre_release) = match rest.split_once('-') {
        Some((patch, pre_release)) => (patch, Some(pre_release)),
        None => (rest, None),
    };
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if let Some(build) = build
        && !build.split('.').all(is_word)
    {
        return None;
    }
    let pre_release: Vec<String> =
        pre_release.map(|text| text.split('.').map(str::to_owned).collect()).unwrap_or_default();
    let fits = |word: &String| {
        is_word(word) && (!word.bytes().all(|b| b.is_ascii_digit()) || number(word).is_some())
    };
    if !pre_release.iter().all(fits) {
        return None;
    }
    Some(Semver { core: [number(major)?, number(minor)?, number(patch)?], pre_release })
}

/// Digits without a leading zero.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits || (text.len() > 1 && text.starts_with('0')) { None } else { text.parse().ok() }
}

/// Makes a version of `v1.2` or `01.2.3`.
fn normalize(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| match part.trim_start_matches('0') {
            _ if part.len() <= 1 => part.to_owned(),
            rest if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
            rest => format!("0{rest}"),
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
    }
    Some(parts.join("."))
}
