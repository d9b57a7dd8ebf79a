//! What somebody may have meant.

/// The one that differs least, if it differs little.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let few = 1 + word.len() / 8;
    known
        .into_iter()
        .map(|other| (distance(&word.to_lowercase(), &other.to_lowercase()), other))
        .min()
        .filter(|(distance, _)| *distance <= few)
        .map(|(_, other)| other)
}

/// How many letters have to be added, removed or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for column in 1..=other.len() {
            let changed = diagonal + usize::from(letter != other[column - 1]);
            diagonal = row[column];
            row[column] = changed.min(diagonal + 1).min(row[column - 1] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_seen_and_another_word_is_not() {
        let known = ["listen", "dataDir", "database.url"];
        assert_eq!(nearest("lisen", known), Some("listen"));
        assert_eq!(nearest("datadir", known), Some("dataDir"));
        assert_eq!(nearest("frobnicate", known), None);
    }
}
