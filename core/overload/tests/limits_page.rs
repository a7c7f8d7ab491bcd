//! The table "Which limit refused my request?" in `docs/limits.md` lists every limit with its key and its mechanism.

use std::collections::BTreeSet;
use std::path::Path;

use chancery_overload::Limit;

type Row = (String, String, String);

fn documented() -> BTreeSet<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md");
    let page = std::fs::read_to_string(page).expect("the page on limits");
    let section = page.split("## Which limit refused my request?").nth(1).expect("the section on limits");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, name, _, key, mechanism, setting, response, _] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`').filter(|name| *name != "limit")?;
        assert!(!setting.is_empty() && !response.is_empty(), "{name} lacks a setting or a response");
        Some((name.to_owned(), key.to_owned(), mechanism.to_owned()))
    });
    rows.collect()
}

#[test]
fn the_page_on_limits_lists_every_limit_with_its_key_and_mechanism() {
    let named =
        |limit: &Limit| (limit.as_str().to_owned(), limit.keyed_by().to_owned(), limit.mechanism().as_str().to_owned());
    let limits: BTreeSet<_> = Limit::ALL.iter().map(named).collect();
    assert_eq!(documented(), limits);
}
