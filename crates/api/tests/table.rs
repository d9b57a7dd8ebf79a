//! The table and the handlers: neither has what the other has not.

use std::collections::BTreeMap;

use slipway_contract::{Access, endpoints};

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

#[test]
fn who_may_do_what_changes_only_where_somebody_sees_it() {
    let mut rows: Vec<_> = endpoints().collect();
    rows.sort_by_key(|row| (row.path, row.method));
    let rows: Vec<String> = rows
        .into_iter()
        .map(|row| {
            let who = match row.access {
                Access::Open => "anybody".to_owned(),
                Access::Needs(permission) => {
                    let roles: Vec<String> = permission.roles().iter().map(ToString::to_string).collect();
                    format!("{permission:?}: {}", roles.join(", "))
                }
            };
            let most =
                row.per_minute.map_or_else(|| "no limit".to_owned(), |most| format!("{most} a minute"));
            format!("{} {} ({most}) {who}", row.method.as_str(), row.path)
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}
