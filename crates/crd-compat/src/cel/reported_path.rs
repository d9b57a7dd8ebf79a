//! The `fieldPath` of a rule.

use crate::schema::Schema;

/// A path such as `.spec['a.b'].c` as the API server prints it below the node that carries the rule; `None`
/// when it does not lead to a field of the schema.
pub(super) fn normalize(path: &str, schema: &Schema) -> Option<String> {
    let mut out = String::new();
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, tail) = step(rest)?;
        if schema.properties.is_empty() {
            out.push('[');
            out.push_str(&name);
            out.push(']');
            schema = schema.value_schema()?;
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
            schema = schema.properties.get(&name)?;
        }
        rest = tail;
    }
    Some(out)
}

/// The first name of a path, and what follows it.
fn step(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at_checked(end)?;
        return (!name.is_empty()).then(|| (name.to_owned(), rest));
    }
    let quoted = path.strip_prefix("['")?;
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '\'' => return Some((name, quoted.get(index + 1..)?.strip_prefix(']')?)),
            '\\' => name.push(match chars.next()?.1 {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                c @ ('\'' | '\\') => c,
                _ => return None,
            }),
            c => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::normalize;
    use crate::schema::Schema;

    #[test]
    fn a_path_is_printed_as_the_api_server_prints_it() {
        let schema = Schema::parse(&json!({"properties": {
            "a": {"properties": {"b.c": {}}},
            "m": {"additionalProperties": {"properties": {"x": {}}}},
        }}))
        .unwrap();
        for (path, printed) in [
            (".a", Some("a")),
            (".a['b.c']", Some("a.b.c")),
            (".m['k\\'1'].x", Some("m[k'1].x")),
            (".m.k.x", Some("m[k].x")),
            (".z", None),
            ("a", None),
            (".", None),
            (".a['b.c", None),
            (".a['\\q']", None),
        ] {
            assert_eq!(normalize(path, &schema).as_deref(), printed, "{path}");
        }
    }
}
