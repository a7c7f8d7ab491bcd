//! What pages name: other pages, files, tests and settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::markdown::Markdown;
use crate::root;

/// Why a link of this page leads nowhere. Other sites are not asked.
pub(crate) fn dead_end(page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let from = root().join(page);
    let target = if path.is_empty() { from } else { from.parent().unwrap().join(path) };
    if !target.exists() {
        return Some(format!("({link}) is not there"));
    }
    // mdBook makes a site of the pages of docs/ and of nothing else; SUMMARY.md is none.
    if page.starts_with("docs/") && page != "docs/SUMMARY.md" && !is_in_book(page, path) {
        return Some(format!("({link}) leads out of the book"));
    }
    if fragment.is_empty() {
        return None;
    }
    let headings = Markdown::read(&fs::read_to_string(&target).ok()?).headings;
    (!headings.iter().any(|heading| heading == fragment)).then(|| format!("({link}) has no such heading"))
}

/// Whether a path that a page of the book links to stays in `docs/` and is not the table of contents.
fn is_in_book(page: &str, path: &str) -> bool {
    let mut parts: Vec<_> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        if part != ".." {
            parts.push(part);
            continue;
        }
        parts.pop();
        if parts.is_empty() {
            return false;
        }
    }
    parts != ["docs", "SUMMARY.md"]
}

/// Why what looks like a file of the repository, or a test in one (`file::test`), is none.
pub(crate) fn missing_file(span: &str) -> Option<String> {
    const TOPS: &str = "app core doors adapters libs tests testkit scripts fuzz bench docs packaging";
    let top = span.split_once('/').map(|(top, _)| top)?;
    if !TOPS.split(' ').any(|known| known == top) || span.contains([' ', '*', '{', '…']) {
        return None;
    }
    let (path, test) = span.split_once("::").map_or((span, None), |(path, test)| (path, Some(test)));
    let path_there = root().join(path);
    if !path_there.exists() {
        return Some(format!("`{span}` is not there"));
    }
    let named = |name: &str| fs::read_to_string(&path_there).unwrap_or_default().contains(&format!("fn {name}("));
    test.filter(|test| !named(test)).map(|test| format!("`{path}` has no test {test}"))
}

/// The settings that are written in TOML, by their full names, and their sections; with those that are commented out by a
/// `#` right before them, where that is asked for.
pub(crate) fn settings(text: &str, commented: bool) -> BTreeSet<String> {
    let (mut found, mut section) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        let line = if commented { line.strip_prefix('#').unwrap_or(line) } else { line };
        if line.starts_with('[') {
            section = line.trim_matches(|bracket| "[]".contains(bracket)).to_owned();
            found.insert(section.clone());
        } else if let Some((name, _)) = line.split_once(" =")
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_.".contains(letter))
        {
            let full = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            found.insert(full);
        }
    }
    found
}

/// The setting that a text between backticks means, if it means one: `server.listen`, `acme.subdomains = true`.
pub(crate) fn named_setting(span: &str, known: &BTreeSet<String>) -> Option<String> {
    const FILES: [&str; 7] = ["sh", "rs", "pem", "json", "toml", "md", "py"];
    let name = span.split(" = ").next()?;
    let (section, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    let plain =
        name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_.".contains(letter));
    (plain && name.contains('.') && known.contains(section) && !FILES.contains(&last)).then(|| name.to_owned())
}

/// Whether the code below a folder has this text: what looks like a setting may be an action of the audit trail, or an event.
pub(crate) fn is_said_in(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        (path.is_dir() && is_said_in(&path, text)) || (is_code && fs::read_to_string(&path).unwrap().contains(text))
    })
}
