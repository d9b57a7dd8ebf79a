//! The `pattern` keyword.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A pattern compiled when first matched: most patterns of a large schema are never needed.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    compiled: OnceLock<Result<Regex, String>>,
}

/// Bounds what a hostile pattern may take; Go's own limit is on repetition, far below this.
const SIZE_LIMIT: usize = 4 << 20;

impl Pattern {
    /// A pattern as written.
    pub fn new(source: impl Into<String>) -> Pattern {
        Pattern { source: source.into(), compiled: OnceLock::new() }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether the pattern is found anywhere in `text`; an error when it cannot be compiled here.
    pub fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| compile(&self.source)) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(reason) => Err(reason),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.source == other.source
    }
}

/// Compiles a regular expression written for Go, whose Perl classes know ASCII only.
pub(crate) fn compile(source: &str) -> Result<Regex, String> {
    RegexBuilder::new(&ascii_classes(source))
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| format!("pattern {source:?} cannot be evaluated here: {error}"))
}

/// Rewrites `\d`, `\s`, `\w`, `\b` and their opposites to what Go means by them.
fn ascii_classes(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut chars = source.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                // Everything up to the end mark is meant literally.
                Some('Q') if !in_class => {
                    let rest = chars.as_str();
                    let (literal, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
                    out.push_str(&regex::escape(literal));
                    chars = rest.chars();
                }
                Some(class) => push_escape(&mut out, class, in_class),
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str(if chars.as_str().starts_with(':') { "[" } else { "\\[" }),
            '[' => {
                in_class = true;
                out.push('[');
                // A bracket right after the opening one, or after its negation, stands for itself.
                if let Some(rest) = chars.as_str().strip_prefix('^') {
                    out.push('^');
                    chars = rest.chars();
                }
                if let Some(rest) = chars.as_str().strip_prefix(']') {
                    out.push_str("\\]");
                    chars = rest.chars();
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Set operations of this engine are plain characters to Go.
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn push_escape(out: &mut String, class: char, in_class: bool) {
    let ascii = match (class, in_class) {
        ('d', false) => "[0-9]",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('w', false) => "[0-9A-Za-z_]",
        ('d', true) => "0-9",
        ('s', true) => "\\t\\n\\f\\r ",
        ('w', true) => "0-9A-Za-z_",
        ('D', _) => "[^0-9]",
        ('S', _) => "[^\\t\\n\\f\\r ]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('b', false) => "(?-u:\\b)",
        _ => {
            out.push('\\');
            out.push(class);
            return;
        }
    };
    out.push_str(ascii);
}
