//! Enough of CEL to show that one rule is weaker than another.
//!
//! An expression is taken apart as far as logic goes; what is left are atoms, compared by their words. A
//! rule that cannot be taken apart is one atom: nothing is claimed about it.

/// A rule, taken apart as far as logic goes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    Choice(Box<[Expression; 3]>),
    Compare { left: String, operator: String, right: String },
    Atom(Vec<String>),
}

/// Rules of more words than this are compared as a whole.
const MAX_WORDS: usize = 400;

/// How deep implication looks.
const MAX_DEPTH: usize = 24;

impl Expression {
    pub(crate) fn parse(rule: &str) -> Expression {
        let words = words(rule);
        if words.len() > MAX_WORDS { Expression::Atom(words) } else { parse(&words, 0) }
    }

    /// Whether `other` certainly holds whenever this does.
    pub(crate) fn implies(&self, other: &Expression) -> bool {
        implies(self, other, 0)
    }

    /// Whether it always holds.
    pub(crate) fn is_true(&self) -> bool {
        *self == Expression::Atom(vec!["true".to_owned()])
    }

    /// What it gives when fields for which `absent` holds are missing from `self`, where that decides.
    pub(crate) fn without(&self, absent: &dyn Fn(&str) -> bool) -> Option<bool> {
        match self {
            Expression::And(parts) => {
                let known: Vec<_> = parts.iter().map(|part| part.without(absent)).collect();
                if known.contains(&Some(false)) {
                    return Some(false);
                }
                known.into_iter().all(|part| part == Some(true)).then_some(true)
            }
            Expression::Or(parts) => {
                let known: Vec<_> = parts.iter().map(|part| part.without(absent)).collect();
                if known.contains(&Some(true)) {
                    return Some(true);
                }
                known.into_iter().all(|part| part == Some(false)).then_some(false)
            }
            Expression::Not(inner) => inner.without(absent).map(|known| !known),
            Expression::Choice(parts) => match parts.as_ref() {
                [when, then, otherwise] => {
                    if when.without(absent)? {
                        then.without(absent)
                    } else {
                        otherwise.without(absent)
                    }
                }
            },
            Expression::Compare { .. } => None,
            Expression::Atom(words) => match words.as_slice() {
                [has, open, this, dot, field, .., close]
                    if has == "has" && open == "(" && this == "self" && dot == "." && close == ")" =>
                {
                    absent(field).then_some(false)
                }
                [word] if word == "true" => Some(true),
                _ => None,
            },
        }
    }

    /// Whether a word occurs in it.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        match self {
            Expression::And(parts) | Expression::Or(parts) => parts.iter().any(|part| part.mentions(word)),
            Expression::Not(inner) => inner.mentions(word),
            Expression::Choice(parts) => parts.iter().any(|part| part.mentions(word)),
            Expression::Compare { left, right, .. } => {
                [left, right].iter().any(|side| side.split(' ').any(|part| part == word))
            }
            Expression::Atom(words) => words.iter().any(|part| part == word),
        }
    }
}

/// Words of an expression: names, numbers, texts and operators, without space and comments.
pub(crate) fn words(rule: &str) -> Vec<String> {
    let chars: Vec<char> = rule.chars().collect();
    let at = |index: usize| chars.get(index).copied();
    let mut words = Vec::new();
    let mut i = 0;
    while let Some(c) = at(i) {
        let start = i;
        if c.is_whitespace() {
            i += 1;
            continue;
        } else if c == '/' && at(i + 1) == Some('/') {
            while at(i).is_some_and(|c| c != '\n') {
                i += 1;
            }
            continue;
        } else if c == '\'' || c == '"' {
            i = text_end(&chars, i);
        } else if c.is_alphanumeric() || c == '_' {
            while at(i).is_some_and(|c| {
                c.is_alphanumeric() || c == '_' || (c == '.' && number_goes_on(&chars, start, i))
            }) {
                i += 1;
            }
            // A prefix such as r'…' belongs to the text that follows.
            if i - start <= 2 && matches!(at(i), Some('\'' | '"')) {
                i = text_end(&chars, i);
            }
        } else {
            let pair: String = [Some(c), at(i + 1)].into_iter().flatten().collect();
            i += if matches!(pair.as_str(), "&&" | "||" | "<=" | ">=" | "==" | "!=" | ".?" | "[?") {
                2
            } else {
                1
            };
        }
        words.push(chars.get(start..i).unwrap_or_default().iter().collect());
    }
    words
}

fn number_goes_on(chars: &[char], start: usize, dot: usize) -> bool {
    chars.get(start).is_some_and(char::is_ascii_digit) && chars.get(dot + 1).is_some_and(char::is_ascii_digit)
}

fn text_end(chars: &[char], start: usize) -> usize {
    let quote = chars.get(start).copied();
    let triple = chars.get(start + 1).copied() == quote && chars.get(start + 2).copied() == quote;
    let mut i = start + if triple { 3 } else { 1 };
    while let Some(c) = chars.get(i).copied() {
        if c == '\\' {
            i += 2;
            continue;
        }
        let closes = !triple || (chars.get(i + 1).copied() == quote && chars.get(i + 2).copied() == quote);
        if Some(c) == quote && closes {
            return (i + if triple { 3 } else { 1 }).min(chars.len());
        }
        i += 1;
    }
    chars.len()
}

fn parse(words: &[String], depth: usize) -> Expression {
    let words = strip(words);
    if depth > MAX_DEPTH {
        return Expression::Atom(words.to_vec());
    }
    if let Some(choice) = choice(words, depth) {
        return choice;
    }
    for (operator, join) in [("||", Expression::Or as fn(Vec<_>) -> _), ("&&", Expression::And)] {
        let parts = split(words, operator);
        if parts.len() > 1 {
            return join(parts.into_iter().map(|part| parse(part, depth + 1)).collect());
        }
    }
    if let Some(comparison) = comparison(words) {
        return comparison;
    }
    match words.split_first() {
        Some((first, rest)) if first == "!" && !rest.is_empty() => {
            Expression::Not(Box::new(parse(rest, depth + 1)))
        }
        _ => Expression::Atom(words.to_vec()),
    }
}

/// The words without parentheses around all of them.
fn strip(mut words: &[String]) -> &[String] {
    while let [first, inner @ .., last] = words
        && first == "("
        && last == ")"
        && closing(words) == Some(words.len() - 1)
    {
        words = inner;
    }
    words
}

/// Where the bracket that the first word opens is closed.
fn closing(words: &[String]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, word) in words.iter().enumerate() {
        depth = nest(depth, word);
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

fn nest(depth: usize, word: &str) -> usize {
    match word {
        "(" | "[" | "{" | "[?" => depth + 1,
        ")" | "]" | "}" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Indices of the words at the outermost level.
fn outer(words: &[String]) -> impl Iterator<Item = (usize, &String)> {
    let mut depth = 0;
    words.iter().enumerate().filter(move |(_, word)| {
        let before = depth;
        depth = nest(depth, word);
        before == 0 && depth == 0
    })
}

fn split<'w>(words: &'w [String], operator: &str) -> Vec<&'w [String]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, word) in outer(words) {
        if word == operator {
            parts.extend(words.get(start..index));
            start = index + 1;
        }
    }
    parts.extend(words.get(start..));
    parts
}

fn choice(words: &[String], depth: usize) -> Option<Expression> {
    let (question, _) = outer(words).find(|(_, word)| *word == "?")?;
    let rest = words.get(question + 1..)?;
    // The colon of this question is the first that no inner question takes.
    let mut open = 0_usize;
    let (colon, _) = outer(rest).find(|(_, word)| match word.as_str() {
        "?" => {
            open += 1;
            false
        }
        ":" if open > 0 => {
            open -= 1;
            false
        }
        ":" => true,
        _ => false,
    })?;
    Some(Expression::Choice(Box::new([
        parse(words.get(..question)?, depth + 1),
        parse(rest.get(..colon)?, depth + 1),
        parse(rest.get(colon + 1..)?, depth + 1),
    ])))
}

fn comparison(words: &[String]) -> Option<Expression> {
    let operators = ["<=", ">=", "==", "!=", "<", ">", "in"];
    let mut found = outer(words).filter(|(_, word)| operators.contains(&word.as_str()));
    let (index, operator) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let (left, right) = (words.get(..index)?.join(" "), words.get(index + 1..)?.join(" "));
    // A number on the left is easier to compare on the right.
    let flipped = match operator.as_str() {
        "<=" => ">=",
        ">=" => "<=",
        "<" => ">",
        ">" => "<",
        same => same,
    };
    Some(if number(&left).is_some() && operator != "in" {
        Expression::Compare { left: right, operator: flipped.to_owned(), right: left }
    } else {
        Expression::Compare { left, operator: operator.clone(), right }
    })
}

fn number(text: &str) -> Option<f64> {
    text.replace("- ", "-").parse().ok()
}

fn implies(one: &Expression, other: &Expression, depth: usize) -> bool {
    use Expression::{And, Choice, Compare, Not, Or};
    if one == other || other.is_true() {
        return true;
    }
    if depth > MAX_DEPTH {
        return false;
    }
    let deeper = |one: &Expression, other: &Expression| implies(one, other, depth + 1);
    match (one, other) {
        (_, And(parts)) => parts.iter().all(|part| deeper(one, part)),
        (Or(parts), _) => parts.iter().all(|part| deeper(part, other)),
        (And(parts), Or(choices)) => {
            parts.iter().any(|part| deeper(part, other)) || choices.iter().any(|part| deeper(one, part))
        }
        (And(parts), _) => parts.iter().any(|part| deeper(part, other)),
        (_, Or(parts)) => parts.iter().any(|part| deeper(one, part)),
        (Not(one), Not(other)) => deeper(other, one),
        (Choice(one), Choice(other)) => {
            let ([when, a, b], [same, c, d]) = (one.as_ref(), other.as_ref());
            when == same && deeper(a, c) && deeper(b, d)
        }
        (Compare { left, operator, right }, Compare { left: same, operator: other, right: limit }) => {
            left == same && compare_implies(operator, right, other, limit)
        }
        _ => false,
    }
}

/// Whether `x operator right` makes `x other limit` certain.
fn compare_implies(operator: &str, right: &str, other: &str, limit: &str) -> bool {
    let (listed, wanted) = (elements(right), elements(limit));
    match (operator, other) {
        ("in", "in") => {
            if let (Some(listed), Some(wanted)) = (listed, wanted) {
                return listed.iter().all(|element| wanted.contains(element));
            }
        }
        ("==", "in") => return wanted.is_some_and(|wanted| wanted.contains(&right)),
        _ => {}
    }
    // An integer compared with a double is another comparison.
    let (Some(a), Some(b)) = (number(right), number(limit)) else { return false };
    if right.contains('.') != limit.contains('.') {
        return false;
    }
    match (operator, other) {
        ("<" | "<=" | "==", "<=") | ("<", "<" | "!=") => a <= b,
        ("<=" | "==", "<") | ("<=", "!=") => a < b,
        (">" | ">=" | "==", ">=") | (">", ">" | "!=") => a >= b,
        (">=" | "==", ">") | (">=", "!=") => a > b,
        ("==", "!=") => (a - b).abs() > 0.0,
        _ => false,
    }
}

/// The elements of a list written out; none when they are more than single words.
fn elements(list: &str) -> Option<Vec<&str>> {
    let inner = list.strip_prefix("[ ")?.strip_suffix(" ]")?;
    let elements: Vec<&str> = inner.split(" , ").collect();
    let plain = |element: &&str| element.starts_with(['\'', '"']) || !element.contains([' ', '(']);
    elements.iter().all(plain).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weaker(old: &str, new: &str) -> bool {
        Expression::parse(old).implies(&Expression::parse(new))
    }

    #[test]
    fn space_comments_and_parentheses_do_not_matter() {
        assert_eq!(Expression::parse("self.a<=5"), Expression::parse(" ( self . a <= 5 ) // limit"));
        assert_eq!(Expression::parse("self.a == 'x y'"), Expression::parse("self.a=='x y'"));
        assert_ne!(Expression::parse("self.a == 'x y'"), Expression::parse("self.a == 'xy'"));
    }

    #[test]
    fn dropping_a_conjunct_or_adding_a_disjunct_weakens() {
        assert!(weaker("self.a && self.b", "self.a"));
        assert!(weaker("self.a", "self.a || self.b"));
        assert!(weaker("self.a && self.b", "self.b && self.a"));
        assert!(weaker("!(self.a || self.b)", "!self.a"));
        assert!(!weaker("self.a", "self.a && self.b"));
        assert!(!weaker("self.a || self.b", "self.a"));
        assert!(!weaker("!self.a", "!(self.a || self.b)"));
    }

    #[test]
    fn a_raised_bound_weakens() {
        assert!(weaker("self.size() <= 5", "self.size() <= 10"));
        assert!(weaker("!has(self.a) || self.a < 5", "!has(self.a) || self.a < 10"));
        assert!(weaker("5 >= self.a", "self.a <= 6"));
        assert!(weaker("self.a == 5", "self.a >= 5 && self.a != 6"));
        assert!(weaker("self.a > 5", "self.a != 5"));
        assert!(weaker("self.a >= -5", "self.a > -6"));
        assert!(!weaker("self.a <= 10", "self.a <= 5"));
        assert!(!weaker("self.a <= 5", "self.b <= 10"));
        assert!(!weaker("self.a <= 5", "self.a <= 6.0"));
        assert!(!weaker("self.a <= self.b", "self.a <= self.c"));
    }

    #[test]
    fn a_longer_list_weakens() {
        assert!(weaker("self in ['a']", "self in ['a', 'b']"));
        assert!(weaker("self == 'a'", "self in ['a', 'b']"));
        assert!(!weaker("self in ['a', 'c']", "self in ['a', 'b']"));
        assert!(!weaker("self in [f(1, 2)]", "self in [f(1, 2), f(3)]"));
    }

    #[test]
    fn choices_are_compared_side_by_side() {
        assert!(weaker("self.a ? self.b : self.c < 3", "self.a ? self.b || self.d : self.c < 4"));
        assert!(!weaker("self.a ? self.b : self.c", "self.d ? self.b : self.c"));
        assert!(weaker("a ? b ? c : d : e", "a ? (b ? c : d) : e"));
    }

    #[test]
    fn nothing_is_claimed_about_what_is_not_understood() {
        assert!(!weaker("self.all(x, x < 3)", "self.all(x, x < 4)"));
        assert!(!weaker("self.a < 3 < 4", "self.a < 4"));
        assert!(weaker("anything", "true"));
        assert!(!weaker("a", ""));
    }

    #[test]
    fn a_rule_about_a_missing_field_holds_without_it() {
        let without = |rule: &str| Expression::parse(rule).without(&|field| field == "a");
        assert_eq!(without("!has(self.a) || self.a.b < 3"), Some(true));
        assert_eq!(without("has(self.a) ? self.a.b : true"), Some(true));
        assert_eq!(without("!(has(self.a) && has(self.b))"), Some(true));
        assert_eq!(without("has(self.a.b) || has(self.a)"), Some(false));
        assert_eq!(without("has(self.b)"), None);
        assert_eq!(without("self.b < 3 || has(self.a)"), None);
        assert_eq!(without("has(self.a) && self.b == 1"), Some(false));
    }

    #[test]
    fn texts_keep_their_quotes_and_escapes() {
        assert_eq!(words(r#"self == 'it\'s' && r"\d" == """a"b""""#).len(), 7);
        assert_eq!(words("'unfinished"), ["'unfinished"]);
        assert_eq!(words("1.5 + a.b.?c[?0]").len(), 10);
    }

    #[test]
    fn words_are_found_anywhere() {
        for rule in
            ["self == oldSelf", "!(a && oldSelf.b)", "a ? oldSelf : b", "f(oldSelf)", "a || oldSelf.b"]
        {
            assert!(Expression::parse(rule).mentions("oldSelf"), "{rule}");
        }
        assert!(!Expression::parse("self.oldSelfish == 1").mentions("oldSelf"));
    }

    #[test]
    fn a_rule_nested_like_an_onion_is_not_followed_forever() {
        let rule = format!("{}a{}", "!(b || ".repeat(60), ")".repeat(60));
        let expression = Expression::parse(&rule);
        assert!(expression.implies(&expression.clone()));
    }
}
