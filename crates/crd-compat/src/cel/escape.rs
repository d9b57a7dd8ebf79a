//! Names of fields that are no identifiers, as rules must write them.

use std::borrow::Cow;

/// Words that cannot be written as a field name.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const SEQUENCES: [(&str, &str); 4] = [("__", "underscores"), (".", "dot"), ("-", "dash"), ("/", "slash")];

/// How a rule writes a field name; `None` when no rule can.
pub(super) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if name.chars().any(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'))) {
        return None;
    }
    let mut out = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some((text, word)) = SEQUENCES.iter().find(|(text, _)| rest.starts_with(text)) {
            out.push_str("__");
            out.push_str(word);
            out.push_str("__");
            rest = rest.get(text.len()..).unwrap_or_default();
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    Some(Cow::Owned(out))
}

/// The field name a rule means; `None` when it means none.
pub(super) fn unescape(written: &str) -> Option<Cow<'_, str>> {
    if !written.contains("__") {
        return Some(Cow::Borrowed(written));
    }
    let mut out = String::new();
    let mut rest = written;
    while let Some(start) = rest.find("__") {
        let after = rest.get(start + 2..)?;
        let word = after.get(..after.find('_').unwrap_or(after.len()))?;
        let closed = after.get(word.len()..)?.starts_with("__");
        if word.is_empty() || !closed {
            // Not a sequence here; one may begin at the next character.
            out.push_str(rest.get(..=start)?);
            rest = rest.get(start + 1..)?;
            continue;
        }
        out.push_str(rest.get(..start)?);
        match SEQUENCES.iter().find(|(_, known)| *known == word) {
            Some((text, _)) => out.push_str(text),
            None if RESERVED.contains(&word) && written.len() == word.len() + 4 => out.push_str(word),
            None => return None,
        }
        rest = after.get(word.len() + 2..)?;
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn names_are_escaped_and_back() {
        for (name, written) in [
            ("plain", "plain"),
            ("with_underscore", "with_underscore"),
            ("a.b", "a__dot__b"),
            ("x-y/z", "x__dash__y__slash__z"),
            ("redact__d", "redact__underscores__d"),
            ("namespace", "__namespace__"),
            ("in", "__in__"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(written));
            assert_eq!(unescape(written).as_deref(), Some(name));
        }
    }

    #[test]
    fn some_names_cannot_be_written() {
        assert_eq!((escape("1a"), escape(""), escape("a b"), escape("ä")), (None, None, None, None));
        assert_eq!(unescape("a__nothing__b"), None);
        assert_eq!(unescape("a__namespace__"), None);
        assert_eq!(unescape("___dot__").as_deref(), Some("_."));
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
    }
}
