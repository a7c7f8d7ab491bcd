//! The pages about events and about the audit trail tell of all there are, in the words of the code.

use chancery_domain::{Action, EventType};

/// The rows of a table, by its first two columns.
fn listed(page: &str, table: &str) -> Vec<String> {
    let page = std::fs::read_to_string(format!("{}/../docs/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- {table} -->")).unwrap();
    let (table, _) = rest.split_once(&format!("<!-- /{table} -->")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_end_matches(" |").split(" | ").take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_page_lists_every_type_and_no_other() {
    let expected = EventType::ALL.iter().map(|kind| format!("| `{kind}` {}", kind.describe()));
    assert_eq!(listed("events.md", "events"), expected.collect::<Vec<_>>());
}

#[test]
fn the_page_lists_every_action_and_no_other() {
    let expected = Action::ALL.iter().map(|action| format!("| `{action}` {}", action.describe()));
    assert_eq!(listed("audit.md", "actions"), expected.collect::<Vec<_>>());
}
