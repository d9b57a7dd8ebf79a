//! Taking out of log lines what looks like a secret. It is coarse on purpose: a word too many is lost
//! rather than one too few.

const HIDDEN: &str = "[redacted]";
const LONGEST: usize = 500;

/// Words whose value is nobody's business.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "authorization",
    "credential",
    "credentials",
    "cookie",
];

/// The line without what looks like a secret, cut where it gets long.
pub fn redact(line: &str) -> String {
    let line: String =
        line.chars().filter(|character| !character.is_control() || *character == '\t').collect();
    let line = match line.find("-----BEGIN") {
        Some(start) => format!("{}{HIDDEN}", &line[..start]),
        None => line,
    };
    let line = without_user_information(&line);
    let line = without_named_values(&line);
    let line = without_keys(&line);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether a line tells of an error, whichever way it is written.
pub fn is_error_line(line: &str) -> bool {
    let bytes = line.as_bytes();
    // As Kubernetes' own programs write: a letter for the level, then month and day.
    if let [level @ (b'I' | b'W' | b'E' | b'F'), month_and_day @ ..] = bytes
        && month_and_day
            .get(..5)
            .is_some_and(|text| text[..4].iter().all(u8::is_ascii_digit) && text[4] == b' ')
    {
        return matches!(level, b'E' | b'F');
    }
    let lower = line.to_ascii_lowercase();
    let level = ["level", "severity", "lvl"].iter().find_map(|key| {
        let after = lower.split_once(key)?.1.trim_start_matches(['"', ' ', ':', '=']);
        Some(after.split(|character: char| !character.is_ascii_alphabetic()).next().unwrap_or_default())
    });
    if let Some(level) = level.filter(|level| !level.is_empty()) {
        return ["err", "fatal", "panic", "crit", "dpanic"].iter().any(|word| level.starts_with(word));
    }
    lower
        .split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| matches!(word, "error" | "fatal" | "panic" | "panicked" | "exception"))
}

/// `https://user:word@host` without the user and the word.
fn without_user_information(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        text.push_str(before);
        let end = after.find(|character: char| character.is_whitespace() || "/?#\"'".contains(character));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => {
                text.push_str(HIDDEN);
                &after[at..]
            }
            None => after,
        };
    }
    text.push_str(rest);
    text
}

/// `password=…`, `"token": "…"`, `Authorization: Bearer …` without the value.
fn without_named_values(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let mut text = String::with_capacity(line.len());
    let mut from = 0;
    while let Some((start, end)) = next_value(line, &lower, from) {
        text.push_str(&line[from..start]);
        text.push_str(HIDDEN);
        from = end;
    }
    text.push_str(&line[from..]);
    text
}

fn next_value(line: &str, lower: &str, from: usize) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    for name in NAMES.iter().chain(&["bearer ", "basic "]) {
        let mut search = from;
        while let Some(offset) = lower[search..].find(name) {
            let after = search + offset + name.len();
            search = after;
            if let Some(span) = value_after(line, after, name.ends_with(' ')) {
                if found.is_none_or(|(start, _)| span.0 < start) {
                    found = Some(span);
                }
                break;
            }
        }
    }
    found
}

/// The value that follows a name, if one does: after `=` or `:`, with quotes or without.
fn value_after(line: &str, after: usize, bare: bool) -> Option<(usize, usize)> {
    let rest = &line[after..];
    let trimmed = rest.trim_start_matches(['"', '\'', '\\']);
    let value = if bare {
        rest
    } else {
        let separated = trimmed.trim_start().strip_prefix([':', '='])?;
        separated.trim_start_matches(['"', '\'', '\\', ' '])
    };
    let scheme = ["Bearer ", "bearer ", "Basic ", "basic "].iter().find(|scheme| value.starts_with(**scheme));
    let value = scheme.map_or(value, |scheme| &value[scheme.len()..]);
    let length = value
        .find(|character: char| character.is_whitespace() || "\"',;&})]\\".contains(character))
        .unwrap_or(value.len());
    let start = line.len() - value.len();
    (length > 0 && !value[..length].starts_with("[redacted")).then_some((start, start + length))
}

/// Words that can only be keys: JSON web tokens, well-known prefixes, long mixtures of letters and digits.
fn without_keys(line: &str) -> String {
    let part = |character: char| character.is_ascii_alphanumeric() || "+/_-.=".contains(character);
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(part) {
        text.push_str(&rest[..start]);
        let end = rest[start..].find(|character| !part(character)).map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        text.push_str(if is_key(word) { HIDDEN } else { word });
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

fn is_key(word: &str) -> bool {
    let known =
        ["eyJ", "AKIA", "ASIA", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-"];
    if word.len() >= 16 && known.iter().any(|prefix| word.starts_with(prefix)) {
        return true;
    }
    // Paths, host names and uids have no such mixture within one piece.
    word.split(['.', '/', '-', '_', '=']).any(|piece| {
        piece.len() >= 28
            && piece.bytes().any(|byte| byte.is_ascii_digit())
            && piece.bytes().any(|byte| byte.is_ascii_uppercase())
            && piece.bytes().any(|byte| byte.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_do_not_stay_in_log_lines() {
        for (line, kept) in [
            ("login failed password=hunter2 for ada", "login failed password=[redacted] for ada"),
            (
                r#"{"level":"error","token":"abc.def","n":1}"#,
                r#"{"level":"error","token":"[redacted]","n":1}"#,
            ),
            ("Authorization: Bearer abcdef next", "Authorization: Bearer [redacted] next"),
            ("sent Bearer abc123, refused", "sent Bearer [redacted], refused"),
            ("GET https://ada:pw@host/path failed", "GET https://[redacted]@host/path failed"),
            ("client_secret: s3cr3t; retry", "client_secret: [redacted]; retry"),
            ("bad key -----BEGIN PRIVATE KEY-----abc", "bad key [redacted]"),
            ("got eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln here", "got [redacted] here"),
            ("key Zm9vYmFyYmF6MTIzNDU2Nzg5MEFCQ0RFRkc used", "key [redacted] used"),
        ] {
            assert_eq!(redact(line), kept);
        }
    }

    #[test]
    fn what_is_needed_to_understand_stays() {
        for line in [
            "secret \"default/tls\" not found",
            "E1115 15:00:00.000000 1 controller.go:12] reconcile ns/name failed: timeout",
            "pod 0b5e6c2e-6a43-4d6e-9a3c-3f6a2b1c9d10 of cert-manager-cainjector-7f9c5d8b6-x2x4q",
            "pull registry.example/team/image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(redact(line), line);
        }
        assert!(redact(&"x y ".repeat(1000)).chars().count() <= LONGEST + 1);
    }

    #[test]
    fn errors_are_told_from_the_rest() {
        for line in [
            "E1115 15:00:00.000000 1 controller.go:12] failed",
            r#"{"level":"error","msg":"x"}"#,
            "time=now level=error msg=x",
            "2026-11-15T15:00:00Z ERROR reconcile failed",
            "thread 'main' panicked at src/main.rs",
        ] {
            assert!(is_error_line(line), "{line}");
        }
        for line in [
            "I1115 15:00:00.000000 1 controller.go:12] error=nil",
            r#"{"level":"info","msg":"no error"}"#,
            "all is well",
        ] {
            assert!(!is_error_line(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_can_be_redacted_and_a_named_value_never_stays(
            before in ".{0,40}", value in "[a-zA-Z0-9]{6,20}", after in ".{0,40}"
        ) {
            let line = format!("{before} password={value} {after}");
            prop_assume!(!before.contains(&value) && !after.contains(&value));
            let kept = redact(&line);
            prop_assert!(!kept.contains(&value), "{kept}");
        }
    }
}
