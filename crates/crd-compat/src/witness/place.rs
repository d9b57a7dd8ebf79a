//! Whether a field the API server names lies at a place the comparison names.

use crate::path::Step;

/// Whether `field` (`spec.ports[0].name`) is the place the steps lead to, or lies beneath it.
pub(super) fn is_within(field: &str, steps: &[Step<'_>]) -> bool {
    let mut rest = field.trim_start_matches('.');
    for step in steps {
        let next = match step {
            Step::Field(name) => after_name(rest, name),
            Step::Items => {
                after_bracket(rest).filter(|(inside, _)| inside.bytes().all(|b| b.is_ascii_digit()))
            }
            Step::Values => after_bracket(rest).or_else(|| Some(("", after_word(rest)?))),
        };
        match next {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// Whether `field` lies beneath the place the steps lead to, more than one item deep.
pub(super) fn is_below(field: &str, steps: &[Step<'_>]) -> bool {
    let depth = |text: &str| text.matches(['.', '[']).count();
    is_within(field, steps) && depth(field.trim_start_matches('.')) > steps.len()
}

fn after_name<'f>(rest: &'f str, name: &str) -> Option<(&'f str, &'f str)> {
    if let Some((inside, after)) = after_bracket(rest)
        && inside.trim_matches('"') == name
    {
        return Some((inside, after));
    }
    let after = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(name)?;
    (after.is_empty() || after.starts_with(['.', '['])).then_some(("", after))
}

fn after_bracket(rest: &str) -> Option<(&str, &str)> {
    rest.strip_prefix('[')?.split_once(']')
}

fn after_word(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    if end == 0 { None } else { rest.get(end..) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_lies_at_or_beneath_its_place() {
        let ports = [Step::Field("spec"), Step::Field("ports"), Step::Items];
        assert!(is_within("spec.ports[0]", &ports));
        assert!(is_within("spec.ports[12].name", &ports));
        assert!(is_within(".spec.ports[0].name", &ports));
        assert!(!is_within("spec.ports", &ports));
        assert!(!is_within("spec.portsmouth[0]", &ports));
        assert!(!is_within("spec.ports[a]", &ports));
    }

    #[test]
    fn what_lies_beneath_an_item_is_not_the_list() {
        let ports = [Step::Field("spec"), Step::Field("ports")];
        assert!(!is_below("spec.ports", &ports));
        assert!(!is_below("spec.ports[1]", &ports));
        assert!(is_below("spec.ports[1].name", &ports));
    }

    #[test]
    fn keys_of_maps_may_be_written_either_way() {
        let labels = [Step::Field("labels"), Step::Values];
        assert!(is_within("labels[a]", &labels));
        assert!(is_within("labels.a", &labels));
        assert!(!is_within("labels", &labels));
        assert!(is_within("labels[\"a.b\"].c", &[Step::Field("labels"), Step::Field("a.b")]));
        assert!(is_within("labels.a.b", &[Step::Field("labels"), Step::Field("a.b")]));
    }
}
