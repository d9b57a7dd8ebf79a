//! The parsed expression.

/// A node of an expression; macros are already told apart from calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `has(operand.field)`
    Has {
        operand: Box<Expr>,
        field: String,
    },
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// A function or method; the receiver of a method is its first argument.
    Call {
        function: String,
        args: Vec<Expr>,
    },
    List(Vec<Entry>),
    Map(Vec<(Entry, Expr)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    Binary(Operator, Box<[Expr; 2]>),
    Macro(Box<Macro>),
}

/// An element of a list, or a key of a map; an optional one is left out when it is none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) expr: Expr,
    pub(super) optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// `range.kind(variables…, filter, body)`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Macro {
    pub(super) kind: MacroKind,
    pub(super) range: Expr,
    pub(super) first: String,
    /// The second variable, for the forms that bind key and value.
    pub(super) second: Option<String>,
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    TransformMap,
    TransformMapEntry,
    SortBy,
    OptMap,
    OptFlatMap,
}
