//! What was probably meant.

/// The known name that is closest, if it is close.
pub(super) fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let wanted = plain(name);
    let allowed = (wanted.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many characters must be added, left out or changed.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, of_left) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, of_right) in right.iter().enumerate() {
            let changed = diagonal + usize::from(of_left != *of_right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_found_and_strange_ones_not() {
        let known = ["adminAddress", "webhookAddress", "logLevel"];
        assert_eq!(closest("adminAdress", known), Some("adminAddress"));
        assert_eq!(closest("admin-address", known), Some("adminAddress"));
        assert_eq!(closest("loglevel", known), Some("logLevel"));
        assert_eq!(closest("registries", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
