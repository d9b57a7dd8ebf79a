//! What a password has to be.

use super::Username;

/// The least characters.
pub const SHORTEST_PASSWORD: usize = 12;
/// The most bytes: long enough for any sentence, short enough that hashing it costs nothing extra.
pub const LONGEST_PASSWORD: usize = 1024;

/// Why a password is not taken. It says nothing of the password itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPassword {
    /// Too short.
    #[error("has to have at least 12 characters")]
    Short,
    /// Too long.
    #[error("may have 1024 bytes at most")]
    Long,
    /// The first thing that is guessed.
    #[error("must not contain the username")]
    HasName,
    /// Long, and still nothing.
    #[error("has to have at least 5 different characters")]
    Monotonous,
    /// The same again.
    #[error("has to differ from the old one")]
    Same,
}

/// Checks a password that somebody wants to have.
pub fn check_password(username: &Username, password: &str) -> Result<(), BadPassword> {
    if password.len() > LONGEST_PASSWORD {
        return Err(BadPassword::Long);
    }
    if password.chars().count() < SHORTEST_PASSWORD {
        return Err(BadPassword::Short);
    }
    // A name of one or two letters is part of most sentences.
    let name = username.as_str();
    if name.len() >= 3 && password.to_lowercase().contains(name) {
        return Err(BadPassword::HasName);
    }
    let mut characters: Vec<char> = password.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    if characters.len() < 5 { Err(BadPassword::Monotonous) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_the_name() {
        let ada = Username::local("ada").unwrap();
        assert_eq!(check_password(&ada, "correct horse"), Ok(()));
        assert_eq!(check_password(&ada, "ünïcödé wörd"), Ok(()));
        assert_eq!(check_password(&ada, "elevenchars"), Err(BadPassword::Short));
        assert_eq!(check_password(&ada, &"abcdef".repeat(200)), Err(BadPassword::Long));
        assert_eq!(check_password(&ada, "I am ADA Lovelace"), Err(BadPassword::HasName));
        assert_eq!(check_password(&ada, "abababababababab"), Err(BadPassword::Monotonous));
        let one = Username::local("o").unwrap();
        assert_eq!(check_password(&one, "correct horse"), Ok(()));
    }
}
