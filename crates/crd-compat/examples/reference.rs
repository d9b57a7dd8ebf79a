//! Prints the reference of findings: `cargo run --example reference > docs/reference/crd-findings.md`.

fn main() {
    print!("{}", slipway_crd_compat::rules::reference_markdown());
}
