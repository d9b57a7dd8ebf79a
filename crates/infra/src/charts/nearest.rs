//! Names that somebody may have meant.

/// Up to five names that are close to the wanted one, the closest first.
pub(super) fn nearest(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut close: Vec<(usize, String)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let apart = if lower.contains(&wanted) || wanted.contains(&lower) {
                1
            } else {
                distance(&wanted, &lower)
            };
            (apart <= 1 + wanted.chars().count() / 3).then_some((apart, name))
        })
        .collect();
    close.sort();
    close.truncate(5);
    close.into_iter().map(|(_, name)| name).collect()
}

/// How many letters have to be changed, added or left out.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(250).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(250).enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let change = before + usize::from(a != *b);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let names = ["cert-manager", "cert-manager-csi", "trust-manager", "nginx"].map(str::to_owned);
        assert_eq!(nearest("cert-manger", names.clone()), ["cert-manager"]);
        assert_eq!(nearest("cert", names.clone()), ["cert-manager", "cert-manager-csi"]);
        assert!(nearest("postgres", names).is_empty());
    }
}
