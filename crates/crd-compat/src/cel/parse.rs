//! From tokens to an expression.

use super::SyntaxError;
use super::ast::{Entry, Expr, Macro, MacroKind, Operator};
use super::token::{Token, tokens};

/// How deep an expression may nest, so that walking it cannot exhaust the stack.
pub(super) const MAX_DEPTH: usize = 80;

/// Words no variable may be named after.
const RESERVED: [&str; 17] = [
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

/// Functions whose name has a dot; anything else before a dot is a receiver.
const QUALIFIED: [&str; 24] = [
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "optional.unwrap",
    "lists.range",
    "strings.quote",
    "sets.contains",
    "sets.intersects",
    "sets.equivalent",
    "ip.isCanonical",
    "format.named",
    "format.dns1123Label",
    "format.dns1123Subdomain",
    "format.dns1035Label",
    "format.qualifiedName",
    "format.dns1123LabelPrefix",
    "format.dns1123SubdomainPrefix",
    "format.dns1035LabelPrefix",
    "format.labelValue",
    "format.uri",
    "format.uuid",
    "format.byte",
    "format.date",
    "format.datetime",
];

pub(super) fn parse(source: &str) -> Result<Expr, SyntaxError> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0 };
    let Deep { expr, .. } = parser.conditional()?;
    match parser.tokens.get(parser.at) {
        None => Ok(expr),
        Some(token) => Err(SyntaxError::new(format!("unexpected {token:?}"))),
    }
}

/// An expression and how deep it nests.
struct Deep {
    expr: Expr,
    depth: usize,
}

impl Deep {
    fn leaf(expr: Expr) -> Deep {
        Deep { expr, depth: 1 }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn conditional(&mut self) -> Result<Deep, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let condition = self.or()?;
        let result = if self.eat("?") {
            let then = self.or()?;
            self.expect(":")?;
            let otherwise = self.conditional()?;
            let depth = condition.depth.max(then.depth).max(otherwise.depth);
            grown(Expr::Conditional(Box::new([condition.expr, then.expr, otherwise.expr])), depth)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn or(&mut self) -> Result<Deep, SyntaxError> {
        self.junction("||", Parser::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Deep, SyntaxError> {
        self.junction("&&", |parser| parser.binary(0), Expr::And)
    }

    fn junction(
        &mut self,
        symbol: &'static str,
        operand: fn(&mut Parser) -> Result<Deep, SyntaxError>,
        build: fn(Vec<Expr>) -> Expr,
    ) -> Result<Deep, SyntaxError> {
        let first = operand(self)?;
        if !self.peek(symbol) {
            return Ok(first);
        }
        let mut depth = first.depth;
        let mut terms = vec![first.expr];
        while self.eat(symbol) {
            let next = operand(self)?;
            depth = depth.max(next.depth);
            terms.push(next.expr);
        }
        grown(build(terms), depth)
    }

    fn binary(&mut self, level: usize) -> Result<Deep, SyntaxError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.binary(level + 1)?;
            let depth = left.depth.max(right.depth);
            left = grown(Expr::Binary(operator, Box::new([left.expr, right.expr])), depth)?;
        }
        Ok(left)
    }

    fn operator(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        let found = match self.tokens.get(self.at)? {
            Token::Symbol(symbol) => operators.iter().find(|(text, _)| text == symbol),
            Token::Ident(word) => operators.iter().find(|(text, _)| *text == "in" && word == "in"),
            _ => None,
        };
        let (_, operator) = found?;
        self.at += 1;
        Some(*operator)
    }

    fn unary(&mut self) -> Result<Deep, SyntaxError> {
        for (symbol, build) in [("!", Expr::Not as fn(Box<Expr>) -> Expr), ("-", Expr::Negate)] {
            let mut count = 0;
            while self.peek(symbol) {
                if symbol == "-"
                    && matches!(self.tokens.get(self.at + 1), Some(Token::Int(_) | Token::Double(_)))
                {
                    break;
                }
                self.at += 1;
                count += 1;
            }
            if count > 0 {
                let inner = self.member()?;
                // An even number of signs cancels out, as the API server's parser has it.
                return if count % 2 == 0 {
                    Ok(inner)
                } else {
                    grown(build(Box::new(inner.expr)), inner.depth)
                };
            }
        }
        self.member()
    }

    fn member(&mut self) -> Result<Deep, SyntaxError> {
        let mut node = self.primary()?;
        loop {
            let depth = node.depth;
            if self.eat(".?") {
                let field = self.ident()?;
                node = grown(Expr::Select { operand: Box::new(node.expr), field, optional: true }, depth)?;
            } else if self.eat(".") {
                let field = self.ident()?;
                node = if self.eat("(") {
                    let args = self.arguments()?;
                    method(node, &field, args)?
                } else {
                    grown(Expr::Select { operand: Box::new(node.expr), field, optional: false }, depth)?
                };
            } else if self.peek("[") || self.peek("[?") {
                let optional = self.peek("[?");
                self.at += 1;
                let index = self.conditional()?;
                self.expect("]")?;
                let depth = depth.max(index.depth);
                let expr =
                    Expr::Index { operand: Box::new(node.expr), index: Box::new(index.expr), optional };
                node = grown(expr, depth)?;
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Deep, SyntaxError> {
        let token =
            self.tokens.get(self.at).cloned().ok_or_else(|| SyntaxError::new("the expression ends early"))?;
        self.at += 1;
        Ok(Deep::leaf(match token {
            Token::Int(value) => Expr::Int(i64::try_from(value).map_err(|_| too_large(value))?),
            Token::Uint(value) => Expr::Uint(value),
            Token::Double(value) => Expr::Double(value),
            Token::Text(value) => Expr::Text(value),
            Token::Bytes(value) => Expr::Bytes(value),
            Token::Ident(word) => return self.word(word),
            Token::Symbol("-") => return self.negative(),
            Token::Symbol(".") => {
                let word = self.ident()?;
                return self.word(word);
            }
            Token::Symbol("(") => {
                let inner = self.conditional()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol(symbol @ ("[" | "[?")) => return self.list(symbol == "[?"),
            Token::Symbol(symbol @ ("{" | "{?")) => return self.map(symbol == "{?"),
            Token::Symbol(symbol) => return Err(SyntaxError::new(format!("unexpected {symbol}"))),
        }))
    }

    fn negative(&mut self) -> Result<Deep, SyntaxError> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Int(value)) => {
                let value = 0_i64.checked_sub_unsigned(value).ok_or_else(|| too_large(value))?;
                Ok(Deep::leaf(Expr::Int(value)))
            }
            Some(Token::Double(value)) => Ok(Deep::leaf(Expr::Double(-value))),
            _ => Err(SyntaxError::new("unexpected -")),
        }
    }

    fn word(&mut self, word: String) -> Result<Deep, SyntaxError> {
        match word.as_str() {
            "true" => return Ok(Deep::leaf(Expr::Bool(true))),
            "false" => return Ok(Deep::leaf(Expr::Bool(false))),
            "null" => return Ok(Deep::leaf(Expr::Null)),
            "in" => return Err(SyntaxError::new("unexpected in")),
            reserved if RESERVED.contains(&reserved) => {
                return Err(SyntaxError::new(format!("{reserved} is a reserved word")));
            }
            _ => {}
        }
        if !self.eat("(") {
            return Ok(Deep::leaf(Expr::Ident(word)));
        }
        let Arguments { mut args, depth } = self.arguments()?;
        if word == "has" {
            return match (args.pop(), args.is_empty()) {
                (Some(Expr::Select { operand, field, optional: false }), true) => {
                    grown(Expr::Has { operand, field }, depth)
                }
                _ => Err(SyntaxError::new("has() takes one field selection")),
            };
        }
        grown(Expr::Call { function: word, args }, depth)
    }

    fn arguments(&mut self) -> Result<Arguments, SyntaxError> {
        let mut found = Arguments { args: Vec::new(), depth: 0 };
        if self.eat(")") {
            return Ok(found);
        }
        loop {
            let arg = self.conditional()?;
            found.depth = found.depth.max(arg.depth);
            found.args.push(arg.expr);
            if !self.eat(",") {
                self.expect(")")?;
                return Ok(found);
            }
        }
    }

    fn list(&mut self, mut optional: bool) -> Result<Deep, SyntaxError> {
        let mut entries = Vec::new();
        let mut depth = 0;
        while optional || !self.eat("]") {
            let optional_here = std::mem::take(&mut optional) || self.eat("?");
            let item = self.conditional()?;
            depth = depth.max(item.depth);
            entries.push(Entry { expr: item.expr, optional: optional_here });
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        grown(Expr::List(entries), depth)
    }

    fn map(&mut self, mut optional: bool) -> Result<Deep, SyntaxError> {
        let mut entries = Vec::new();
        let mut depth = 0;
        while optional || !self.eat("}") {
            let optional_here = std::mem::take(&mut optional) || self.eat("?");
            let key = self.conditional()?;
            self.expect(":")?;
            let value = self.conditional()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push((Entry { expr: key.expr, optional: optional_here }, value.expr));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        grown(Expr::Map(entries), depth)
    }

    fn ident(&mut self) -> Result<String, SyntaxError> {
        match self.tokens.get(self.at) {
            Some(Token::Ident(word)) if word != "in" => {
                self.at += 1;
                Ok(word.clone())
            }
            _ => Err(SyntaxError::new("a name is missing")),
        }
    }

    fn peek(&self, symbol: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Symbol(found)) if *found == symbol)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), SyntaxError> {
        if self.eat(symbol) { Ok(()) } else { Err(SyntaxError::new(format!("{symbol} is missing"))) }
    }
}

/// Binary operators, loosest first.
const LEVELS: [&[(&str, Operator)]; 3] = [
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        (">=", Operator::GreaterOrEqual),
        ("in", Operator::In),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

struct Arguments {
    args: Vec<Expr>,
    depth: usize,
}

/// A method call: a macro, a function with a qualified name, or a function on its receiver.
fn method(target: Deep, name: &str, found: Arguments) -> Result<Deep, SyntaxError> {
    let Arguments { mut args, depth } = found;
    let depth = depth.max(target.depth);
    if let Expr::Ident(prefix) = &target.expr {
        let function = format!("{prefix}.{name}");
        if QUALIFIED.contains(&function.as_str()) {
            return grown(Expr::Call { function, args }, depth);
        }
    }
    if let Some((kind, variables, filtered)) = macro_form(name, args.len()) {
        let body = args.pop();
        let filter = if filtered { args.pop() } else { None };
        let mut names = args.into_iter().map(|arg| match arg {
            Expr::Ident(name) => Ok(name),
            _ => Err(SyntaxError::new(format!("{name}() needs a variable name first"))),
        });
        let first = names.next().transpose()?;
        let second = if variables == 2 { names.next().transpose()? } else { None };
        let (Some(body), Some(first)) = (body, first) else {
            return Err(SyntaxError::new("arguments are missing"));
        };
        return grown(
            Expr::Macro(Box::new(Macro { kind, range: target.expr, first, second, filter, body })),
            depth,
        );
    }
    let mut all = Vec::with_capacity(args.len() + 1);
    all.push(target.expr);
    all.append(&mut args);
    grown(Expr::Call { function: name.to_owned(), args: all }, depth)
}

/// The kind of a macro, how many variables it binds, and whether a filter precedes its body.
fn macro_form(name: &str, count: usize) -> Option<(MacroKind, usize, bool)> {
    Some(match (name, count) {
        ("all", 2) => (MacroKind::All, 1, false),
        ("all", 3) => (MacroKind::All, 2, false),
        ("exists", 2) => (MacroKind::Exists, 1, false),
        ("exists", 3) => (MacroKind::Exists, 2, false),
        ("exists_one", 2) => (MacroKind::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (MacroKind::ExistsOne, 2, false),
        ("filter", 2) => (MacroKind::Filter, 1, false),
        ("map", 2) => (MacroKind::Map, 1, false),
        ("map", 3) => (MacroKind::Map, 1, true),
        ("transformList", 3) => (MacroKind::Map, 2, false),
        ("transformList", 4) => (MacroKind::Map, 2, true),
        ("transformMap", 3) => (MacroKind::TransformMap, 2, false),
        ("transformMap", 4) => (MacroKind::TransformMap, 2, true),
        ("transformMapEntry", 3) => (MacroKind::TransformMapEntry, 2, false),
        ("transformMapEntry", 4) => (MacroKind::TransformMapEntry, 2, true),
        ("sortBy", 2) => (MacroKind::SortBy, 1, false),
        ("optMap", 2) => (MacroKind::OptMap, 1, false),
        ("optFlatMap", 2) => (MacroKind::OptFlatMap, 1, false),
        _ => return None,
    })
}

fn grown(expr: Expr, depth: usize) -> Result<Deep, SyntaxError> {
    if depth >= MAX_DEPTH { Err(too_deep()) } else { Ok(Deep { expr, depth: depth + 1 }) }
}

fn too_deep() -> SyntaxError {
    SyntaxError::new("the expression is nested too deep")
}

fn too_large(value: u64) -> SyntaxError {
    SyntaxError::new(format!("{value} is too large for an integer"))
}
