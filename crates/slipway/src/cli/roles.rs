//! `slipway roles`.

use clap::Args;
use slipway_contract::identity::RoleTable;

use super::output::{OutputArgs, print};
use super::table::{Cell, table};

/// Print which role may do what. This is the table that the server decides by, not a description of it.
#[derive(Debug, Args)]
pub(crate) struct RolesCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl RolesCommand {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        print(&self.output.format.render(&RoleTable::of_domain(), shown)?)
    }
}

fn shown(roles: &RoleTable) -> String {
    let names: Vec<String> = roles.roles.iter().map(|role| format!("{role:?}").to_uppercase()).collect();
    let headings: Vec<&str> = std::iter::once("PERMISSION").chain(names.iter().map(String::as_str)).collect();
    let rows = roles.permissions.iter().map(|row| {
        let marks =
            roles.roles.iter().map(|role| Cell::from(if row.roles.contains(role) { "yes" } else { "-" }));
        std::iter::once(Cell::from(&row.permission)).chain(marks).collect()
    });
    table(&headings, rows, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_has_a_row_and_an_admin_has_all() {
        let text = shown(&RoleTable::of_domain());
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].starts_with("PERMISSION"), "{text}");
        assert_eq!(rows.len(), slipway_domain::access::TABLE.len() + 1);
        assert!(rows[1..].iter().all(|row| row.ends_with("yes")), "{text}");
    }
}
