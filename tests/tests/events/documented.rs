//! The page about events tells of every type, in the words of the code.

use chancery_domain::EventType;

#[test]
fn the_page_lists_every_type_and_no_other() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/events.md")).unwrap();
    let (_, rest) = page.split_once("<!-- events -->").unwrap();
    let (table, _) = rest.split_once("<!-- /events -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let listed: Vec<_> = rows.map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = EventType::ALL.iter().map(|kind| format!("| `{kind}` {}", kind.describe()));
    assert_eq!(listed, expected.collect::<Vec<_>>());
}
