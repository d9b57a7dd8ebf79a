//! The program `application-operator`.

fn main() {}
