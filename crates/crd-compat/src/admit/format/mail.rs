//! Mail addresses as Go's `mail.ParseAddress` reads them.

/// Whether the text is one address, with or without a name in front: `Ann <ann@example.com>`.
pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address() && parser.skip_comments() && parser.rest.is_empty()
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn address(&mut self) -> bool {
        self.skip_space();
        let start = self.rest;
        if self.spec() {
            return true;
        }
        // Not an address alone: a name and an address in angle brackets.
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase();
            self.skip_space();
        }
        self.eat('<') && self.spec() && self.eat('>')
    }

    fn spec(&mut self) -> bool {
        self.skip_space();
        let local = if self.rest.starts_with('"') { self.quoted() } else { self.atom(true, false) };
        if !local || !self.eat('@') {
            return false;
        }
        self.skip_space();
        if self.rest.starts_with('[') {
            self.domain_literal()
        } else {
            !self.rest.is_empty() && self.atom(true, false)
        }
    }

    fn phrase(&mut self) {
        loop {
            self.skip_space();
            let before = self.rest;
            let word = if self.rest.starts_with('"') { self.quoted() } else { self.atom(true, true) };
            if !word {
                self.rest = before;
                return;
            }
        }
    }

    fn atom(&mut self, dots: bool, permissive: bool) -> bool {
        let end = self.rest.find(|c: char| !is_atom(c, dots)).unwrap_or(self.rest.len());
        let Some((atom, rest)) = self.rest.split_at_checked(end) else { return false };
        let dots_fit = permissive || !(atom.starts_with('.') || atom.contains("..") || atom.ends_with('.'));
        if atom.is_empty() || !dots_fit {
            return false;
        }
        self.rest = rest;
        true
    }

    fn quoted(&mut self) -> bool {
        let mut chars = self.rest.char_indices().skip(1);
        let mut length = 0;
        while let Some((index, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = self.rest.get(index + 1..).unwrap_or_default();
                    return length > 0;
                }
                '\\' => match chars.next() {
                    Some((_, c)) if is_visible(c) || c == ' ' || c == '\t' => {}
                    _ => return false,
                },
                c if is_visible(c) || c == ' ' || c == '\t' || c == '\r' => {}
                _ => return false,
            }
            length += 1;
        }
        false
    }

    fn domain_literal(&mut self) -> bool {
        let Some(close) = self.rest.find(']') else { return false };
        let inner = self.rest.get(1..close).unwrap_or_default();
        let address = inner.strip_prefix("IPv6:").unwrap_or(inner);
        if inner.is_empty() || super::parse_ip(address).is_none() {
            return false;
        }
        self.rest = self.rest.get(close + 1..).unwrap_or_default();
        true
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn skip_comments(&mut self) -> bool {
        self.skip_space();
        while self.eat('(') {
            let mut depth = 1;
            let mut chars = self.rest.char_indices();
            let mut end = None;
            while let Some((index, c)) = chars.next() {
                match c {
                    '\\' => {
                        chars.next();
                    }
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    end = Some(index + 1);
                    break;
                }
            }
            let Some(end) = end else { return false };
            self.rest = self.rest.get(end..).unwrap_or_default();
            self.skip_space();
        }
        true
    }
}

fn is_atom(c: char, dots: bool) -> bool {
    match c {
        '.' => dots,
        '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"' => false,
        c => is_visible(c),
    }
}

fn is_visible(c: char) -> bool {
    matches!(c, '!'..='~') || !c.is_ascii()
}
