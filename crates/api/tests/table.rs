//! The table and the handlers: neither has what the other has not.

use std::collections::BTreeMap;

use slipway_contract::endpoints;

#[test]
fn every_row_has_exactly_one_handler_and_every_handler_a_row() {
    let routes = slipway_api::routes();
    let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
    for name in routes.bound() {
        *bound.entry(name).or_default() += 1;
    }
    for row in endpoints() {
        let handlers = bound.remove(row.name).unwrap_or_default();
        assert_eq!(
            handlers,
            1,
            "{} {} ({}) has {handlers} handlers",
            row.method.as_str(),
            row.path,
            row.name
        );
    }
    assert!(bound.is_empty(), "these handlers have no row in the table: {:?}", bound.keys());
}
