//! What Kubernetes lets names, labels and keys look like.

pub(crate) const DNS_LABEL: &str = "must consist of lower case alphanumeric characters or '-', and start and end with an alphanumeric character";
pub(crate) const DNS_SUBDOMAIN: &str = "must consist of lower case alphanumeric characters, '-' or '.', and start and end with an alphanumeric character";
pub(crate) const DNS_1035: &str = "must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
pub(crate) const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
pub(crate) const LABEL_VALUE: &str = "must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// A DNS-1123 label, up to 63 characters.
pub(crate) fn dns_label(text: &str) -> Vec<&'static str> {
    limited(text, 63, is_dns_label(text), DNS_LABEL)
}

/// A DNS-1123 subdomain, up to 253 characters.
pub(crate) fn dns_subdomain(text: &str) -> Vec<&'static str> {
    limited(text, 253, text.split('.').all(is_dns_label), DNS_SUBDOMAIN)
}

/// A DNS-1035 label, up to 63 characters.
pub(crate) fn dns_1035_label(text: &str) -> Vec<&'static str> {
    limited(text, 63, is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase()), DNS_1035)
}

/// A name with an optional DNS subdomain in front: label keys, annotations, finalizers.
pub(crate) fn qualified_name(text: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => return vec!["a qualified name must have at most one '/'"],
    };
    let mut problems = match prefix {
        Some("") => vec!["prefix part must be non-empty"],
        Some(prefix) => dns_subdomain(prefix),
        None => Vec::new(),
    };
    if name.is_empty() {
        problems.push("name part must be non-empty");
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes");
    }
    if !is_label_text(name) {
        problems.push(NAME_PART);
    }
    problems
}

/// A label value, up to 63 characters, possibly empty.
pub(crate) fn label_value(text: &str) -> Vec<&'static str> {
    limited(text, 63, text.is_empty() || is_label_text(text), LABEL_VALUE)
}

/// A name that fits into a URL path; a prefix may yet become one.
pub(crate) fn path_segment(text: &str, prefix: bool) -> Vec<&'static str> {
    match text {
        "." if !prefix => return vec!["may not be '.'"],
        ".." if !prefix => return vec!["may not be '..'"],
        _ => {}
    }
    let mut problems = Vec::new();
    if text.contains('/') {
        problems.push("may not contain '/'");
    }
    if text.contains('%') {
        problems.push("may not contain '%'");
    }
    problems
}

/// A prefix for generated names may end in a dash, since something follows.
pub(crate) fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => name.to_owned(),
    }
}

fn limited(text: &str, limit: usize, fits: bool, problem: &'static str) -> Vec<&'static str> {
    let mut problems = Vec::new();
    if text.len() > limit {
        problems.push(match limit {
            253 => "must be no more than 253 bytes",
            _ => "must be no more than 63 bytes",
        });
    }
    if !fits {
        problems.push(problem);
    }
    problems
}

pub(crate) fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || c == '-')
}

fn is_label_text(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::{
        dns_1035_label, dns_label, dns_subdomain, label_value, mask_trailing_dash, path_segment,
        qualified_name,
    };

    #[test]
    fn names_are_judged_as_kubernetes_judges_them() {
        let long = "a".repeat(64);
        let longer = "a".repeat(254);
        for (problems, count) in [
            (dns_label("a-1"), 0),
            (dns_label("a-"), 1),
            (dns_label(""), 1),
            (dns_label(&long), 1),
            (dns_subdomain("a.b-c.1"), 0),
            (dns_subdomain("a..b"), 1),
            (dns_subdomain("A"), 1),
            (dns_subdomain(&longer), 1),
            (dns_1035_label("1a"), 1),
            (dns_1035_label("a1"), 0),
            (qualified_name("example.com/Some_Name.x"), 0),
            (qualified_name("a/b/c"), 1),
            (qualified_name("/b"), 1),
            (qualified_name("B/b"), 1),
            (qualified_name("a/"), 2),
            (qualified_name(&long), 1),
            (qualified_name("-a"), 1),
            (label_value(""), 0),
            (label_value("a b"), 1),
            (label_value(&long), 1),
            (path_segment("..", false), 1),
            (path_segment(".", false), 1),
            (path_segment("..", true), 0),
            (path_segment("a/%", false), 2),
        ] {
            assert_eq!(problems.len(), count, "{problems:?}");
        }
    }

    #[test]
    fn a_prefix_may_end_in_a_dash() {
        assert_eq!(mask_trailing_dash("web-"), "wea");
        assert_eq!(mask_trailing_dash("-"), "-");
        assert_eq!(mask_trailing_dash("web"), "web");
    }
}
