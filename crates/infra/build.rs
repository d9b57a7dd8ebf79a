//! Builds again when a migration is added: the compiler sees only those that are there already.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
