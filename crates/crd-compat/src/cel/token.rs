//! From text to tokens.

use super::SyntaxError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Ident(String),
    /// Without its sign, so that the smallest integer can be written.
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "{?", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?",
    "<", ">", "+", "-", "*", "/",
];

/// No rule of a real definition comes near this; the API server bounds expressions too.
const MAX_TOKENS: usize = 20_000;

pub(super) fn tokens(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut lexer = Lexer { rest: source };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        if tokens.len() >= MAX_TOKENS {
            return Err(SyntaxError::new("the expression is too long"));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    rest: &'a str,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Option<Token>, SyntaxError> {
        self.skip_space();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if let Some(token) = self.text()? {
            return Ok(Some(token));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(Some(Token::Ident(word)));
        }
        let fraction = first == '.' && self.rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        if first.is_ascii_digit() || fraction {
            return self.number().map(Some);
        }
        for symbol in SYMBOLS.into_iter().chain(["%", "!"]) {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return Ok(Some(Token::Symbol(symbol)));
            }
        }
        Err(SyntaxError::new(format!("unexpected character {first:?}")))
    }

    fn skip_space(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']);
            match self.rest.strip_prefix("//") {
                Some(comment) => {
                    self.rest = comment.find('\n').and_then(|end| comment.get(end..)).unwrap_or_default();
                }
                None => return,
            }
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken.to_owned()
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        if let Some(rest) = self.rest.strip_prefix("0x").or_else(|| self.rest.strip_prefix("0X")) {
            self.rest = rest;
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return self.integer(u64::from_str_radix(&digits, 16), &digits);
        }
        let mut text = self.take_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.rest.starts_with('.') && self.rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) {
            float = true;
            self.rest = self.rest.get(1..).unwrap_or_default();
            text.push('.');
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
        }
        if self.rest.starts_with(['e', 'E']) {
            let sign = self.rest.get(1..).is_some_and(|rest| rest.starts_with(['+', '-']));
            let digits_at = if sign { 2 } else { 1 };
            if self.rest.get(digits_at..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                float = true;
                text.push_str(self.rest.get(..digits_at).unwrap_or_default());
                self.rest = self.rest.get(digits_at..).unwrap_or_default();
                text.push_str(&self.take_while(|c| c.is_ascii_digit()));
            }
        }
        if float {
            return text
                .parse()
                .map(Token::Double)
                .map_err(|_| SyntaxError::new(format!("invalid number {text}")));
        }
        self.integer(text.parse(), &text)
    }

    fn integer(
        &mut self,
        value: Result<u64, std::num::ParseIntError>,
        text: &str,
    ) -> Result<Token, SyntaxError> {
        let value = value.map_err(|_| SyntaxError::new(format!("invalid integer {text}")))?;
        match self.rest.strip_prefix(['u', 'U']) {
            Some(rest) => {
                self.rest = rest;
                Ok(Token::Uint(value))
            }
            None => Ok(Token::Int(value)),
        }
    }

    fn text(&mut self) -> Result<Option<Token>, SyntaxError> {
        let prefix = self.rest.chars().take_while(|c| matches!(c, 'r' | 'R' | 'b' | 'B')).count();
        let body = self.rest.get(prefix..).unwrap_or_default();
        if prefix > 2 || !body.starts_with(['"', '\'']) {
            return Ok(None);
        }
        let marks = self.rest.get(..prefix).unwrap_or_default().to_ascii_lowercase();
        if marks == "rr" || marks == "bb" {
            return Ok(None);
        }
        let (raw, bytes) = (marks.contains('r'), marks.contains('b'));
        let quote =
            ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(quote)).unwrap_or("\"");
        let inner = body.get(quote.len()..).unwrap_or_default();
        let end = closing(inner, quote, raw).ok_or_else(|| SyntaxError::new("a string is not closed"))?;
        let content = inner.get(..end).unwrap_or_default();
        self.rest = inner.get(end + quote.len()..).unwrap_or_default();
        if quote.len() == 1 && content.contains(['\n', '\r']) {
            return Err(SyntaxError::new("a string is not closed"));
        }
        let unescaped = if raw { content.as_bytes().to_vec() } else { unescape(content, bytes)? };
        if bytes {
            return Ok(Some(Token::Bytes(unescaped)));
        }
        let text =
            String::from_utf8(unescaped).map_err(|_| SyntaxError::new("a string is not valid UTF-8"))?;
        Ok(Some(Token::Text(text)))
    }
}

/// Where the closing quote begins.
fn closing(inner: &str, quote: &str, raw: bool) -> Option<usize> {
    let mut escaped = false;
    for (index, c) in inner.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && !raw {
            escaped = true;
        } else if inner.get(index..)?.starts_with(quote) {
            return Some(index);
        }
    }
    None
}

fn unescape(content: &str, bytes: bool) -> Result<Vec<u8>, SyntaxError> {
    let mut out = Vec::with_capacity(content.len());
    let mut chars = content.chars();
    let push = |out: &mut Vec<u8>, c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let invalid = || SyntaxError::new("a string has an invalid escape");
        let code = match chars.next().ok_or_else(invalid)? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            c @ ('\\' | '\'' | '"' | '`' | '?') => u32::from(c),
            'x' | 'X' => digits(&mut chars, 2, 16).ok_or_else(invalid)?,
            'u' if !bytes => digits(&mut chars, 4, 16).ok_or_else(invalid)?,
            'U' if !bytes => digits(&mut chars, 8, 16).ok_or_else(invalid)?,
            first @ '0'..='3' => {
                let rest = digits(&mut chars, 2, 8).ok_or_else(invalid)?;
                first.to_digit(8).unwrap_or_default() * 64 + rest
            }
            _ => return Err(invalid()),
        };
        if bytes {
            out.push(u8::try_from(code).map_err(|_| invalid())?);
        } else {
            push(&mut out, char::from_u32(code).ok_or_else(invalid)?);
        }
    }
    Ok(out)
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    (0..count).try_fold(0, |value, _| Some(value * radix + chars.next()?.to_digit(radix)?))
}
