//! The pages of `docs/` hold together: each is in the book, links lead somewhere, and the commands, requests, settings, files
//! and tests that they name are there. What they show is run, page by page: see `playing.rs`.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod markdown;
mod names;
mod playing;
mod requests;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use markdown::Markdown;
use names::{dead_end, is_said_in, missing_file, named_setting, settings};
use shell::{Help, commands, typed, unknown};

/// What is read beside the book itself.
const OTHERS: &[&str] =
    &["README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "fuzz/README.md", "packaging/README.md"];

#[test]
fn every_page_is_in_the_book_once_and_the_book_has_no_other() {
    let summary = Markdown::read(&fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap());
    let listed: Vec<String> = summary.links.into_iter().filter(|link| link.ends_with(".md")).collect();
    let there: Vec<String> = book().into_iter().map(|path| path["docs/".len()..].to_owned()).collect();
    let mut wrong = Vec::new();
    for page in there.iter().filter(|page| *page != "SUMMARY.md") {
        match listed.iter().filter(|listed| *listed == page).count() {
            1 => {}
            count => wrong.push(format!("{page} is {count} times in docs/SUMMARY.md")),
        }
    }
    let missing = |page: &&String| !there.contains(page);
    wrong.extend(listed.iter().filter(missing).map(|page| format!("docs/SUMMARY.md lists {page}, which is not there")));
    none(&wrong);
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for (path, page) in pages() {
        wrong.extend(page.links.iter().filter_map(|link| Some(format!("{path}: {}", dead_end(&path, link)?))));
    }
    none(&wrong);
}

#[test]
fn every_file_and_test_that_is_named_is_there() {
    let mut wrong = Vec::new();
    // In a folder of its own a page names its neighbours.
    for (path, page) in pages().into_iter().filter(|(path, _)| path.starts_with("docs/") || !path.contains('/')) {
        wrong.extend(page.spans.iter().filter_map(|span| Some(format!("{path}: {}", missing_file(span)?))));
    }
    none(&wrong);
}

#[test]
fn every_setting_that_is_named_is_one() {
    let known = settings(&fs::read_to_string(root().join("chancery.example.toml")).unwrap(), true);
    let mut wrong = Vec::new();
    for (path, page) in pages() {
        let blocks = page.blocks.iter().filter(|block| block.language == "toml");
        let written = blocks.flat_map(|block| settings(&block.text, false));
        let named = page.spans.iter().filter_map(|span| named_setting(span, &known));
        let named =
            named.filter(|name| known.contains(name) || !is_said_in(&root().join("core"), &format!("\"{name}\"")));
        for setting in written.chain(named).filter(|setting| !known.contains(setting)) {
            wrong.push(format!("{path}: {setting} is not a setting"));
        }
    }
    none(&wrong);
}

#[test]
fn every_command_that_is_shown_exists_with_its_flags() {
    let Some(binary) = std::env::var_os("CHANCERY_TEST_BINARY") else {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "CHANCERY_TEST_BINARY is not set");
        eprintln!("skipped: CHANCERY_TEST_BINARY is not set; ./scripts/test sets it");
        return;
    };
    let mut help = |path: &[String]| {
        let said = Command::new(&binary).args(path).arg("--help").output().unwrap();
        assert!(said.status.success(), "{path:?} --help: {}", String::from_utf8_lossy(&said.stderr));
        Help::read(&String::from_utf8(said.stdout).unwrap())
    };
    let (mut known, mut wrong, mut count) = (BTreeMap::new(), Vec::new(), 0);
    for (path, page) in pages() {
        let shell = page.blocks.iter().filter_map(|block| match block.language.as_str() {
            "sh" => Some(block.text.clone()),
            "console" => Some(typed(&block.text)),
            _ => None,
        });
        for command in shell.chain(page.spans).flat_map(|text| commands(&text)) {
            count += 1;
            wrong.extend(unknown(&command, &mut known, &mut help).map(|what| format!("{path}: {what}")));
        }
    }
    assert!(count > 50, "only {count} commands were found");
    none(&wrong);
}

#[test]
fn what_is_wrong_is_found() {
    let page = Markdown::read("# A `b` c?\n## A b c\n[x](y.md#z) `[no](link)`\n```sh\n[no](link)\n```\n");
    assert_eq!(
        (page.headings, page.links),
        (vec!["a-b-c".to_owned(), "a-b-c-1".to_owned()], vec!["y.md#z".to_owned()])
    );
    assert!(dead_end("docs/README.md", "nowhere.md").is_some());
    assert!(dead_end("docs/README.md", "operations.md#nowhere").is_some());
    assert!(dead_end("docs/README.md", "../README.md").is_some());
    assert!(dead_end("docs/performance.md", "../docs/README.md").is_some());
    assert!(dead_end("docs/decisions/README.md", "../../README.md").is_some());
    assert!(dead_end("docs/decisions/README.md", "../SUMMARY.md").is_some());
    assert_eq!(dead_end("docs/decisions/README.md", "../performance.md"), None);
    assert_eq!(dead_end("docs/performance.md", "decisions/README.md"), None);
    assert_eq!(dead_end("README.md", "docs/README.md#glossary"), None);
    assert!(missing_file("tests/tests/book/main.rs::no_such_test").is_some());
    assert!(missing_file("tests/tests/no_such_file.rs").is_some());
    assert_eq!(missing_file("tests/tests/book/main.rs::what_is_wrong_is_found"), None);
    let known = settings("[a]\n#b = 1\n# c = 2\n#[[a.d]]\n#e = 1\n", true);
    assert_eq!(known.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "a.b", "a.d", "a.d.e"]);
    assert_eq!(named_setting("a.x = 1", &known).as_deref(), Some("a.x"));
    assert_eq!(named_setting("a.sh", &known), None);
}

#[test]
fn a_command_that_is_not_there_is_found() {
    let mut help = |path: &[String]| match path.join(" ").as_str() {
        "" => {
            Help::read("Usage: chancery\n\nCommands:\n  ca  The CAs\n\nOptions:\n  -h, --help  Print help, not --no\n")
        }
        "ca" => Help::read("Commands:\n  show  Show one\n          and more\n"),
        _ => Help::read("Options:\n      --pem\n      --config <FILE>  Which\n"),
    };
    let mut tell = |text: &str| {
        let found = commands(text);
        assert_eq!(found.len(), 1, "{text}");
        unknown(&found[0], &mut BTreeMap::new(), &mut help)
    };
    for good in [
        "chancery ca show --config x \"A B\" --pem > file # --no",
        "X=$(chancery ca show --config=x)",
        "sudo -u chancery /usr/bin/chancery ca \\\n  show",
        "runuser -u chancery -- chancery ca show",
        "cargo run -q -p chancery -- ca show",
        "chancery ca …",
    ] {
        assert_eq!(tell(good), None, "{good}");
    }
    for bad in ["chancery cat", "chancery ca list", "chancery ca show --no", "cat x | chancery --no"] {
        assert!(tell(bad).is_some(), "{bad}");
    }
    assert!(commands("cd chancery && chancery.example.toml").is_empty());
    assert_eq!(commands(&typed("$ chancery ca\nchancery no\n$ chancery ca \\\n  show\nchancery no\n")).len(), 2);
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The pages of the book, as paths from the root of the repository: those in `docs/` and in its folders.
fn book() -> Vec<String> {
    let mut pages = pages_in("docs");
    pages.sort();
    pages
}

fn pages_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap);
    let pages = entries.flat_map(|entry| {
        let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => pages_in(&path),
            false if path.ends_with(".md") => vec![path],
            false => Vec::new(),
        }
    });
    pages.collect()
}

fn pages() -> Vec<(String, Markdown)> {
    let paths = book().into_iter().chain(OTHERS.iter().map(|path| (*path).to_owned()));
    paths.map(|path| (path.clone(), Markdown::read(&fs::read_to_string(root().join(&path)).unwrap()))).collect()
}
