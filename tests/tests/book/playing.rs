//! Every block of the book is run: its commands and requests in the order of the page, against the program itself.
//!
//! A page is played by `run` (bash) in a folder of its own. What it takes for granted, such as a running service or a
//! customer, is in `stages/`; what cannot be had here, such as systemd, is played by `stand-ins/`. A block that is not run
//! says why in the page: `<!-- not run: reason -->`, which no reader sees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chancery_testkit::free_port;
use chancery_testkit::log::TestLog;
use serde_json::{Value, json};
use yaml_rust2::YamlLoader;

use crate::markdown::{Block, Markdown};
use crate::{book, none, root};

/// What is run, or read, by tests of its own: page, language, and where.
const ELSEWHERE: [(&str, &str, &str); 2] = [
    ("docs/walkthrough.md", "http", "tests/tests/walkthrough/main.rs"),
    ("docs/command-line.md", "console", "app/chancery/tests/chancery/my/manual.rs"),
];

/// What shows something and does nothing. Queries and statements are tried where a stage says so.
const SHOWN: [&str; 7] = ["ini", "text", "rust", "promql", "sql", "apache", "nginx"];

/// What is done with a block.
const PLAYED: [&str; 6] = ["sh", "http", "json", "toml", "python", "caddyfile"];

/// What pages and stages call, of what `scripts/test` installs.
const PROGRAMS: [&str; 12] = [
    "softhsm2-util",
    "jq",
    "curl",
    "openssl",
    "python3",
    "certbot",
    "lego",
    "uacme",
    "dehydrated",
    "acme-tiny",
    "caddy",
    "promtool",
];

macro_rules! pages_are_played {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[test]
            fn $name() {
                crate::playing::play($path);
            }
        )*
        pub(super) const PAGES: &[&str] = &[$($path),*];
    };
}

pages_are_played! {
    the_readme_is_as_it_says: "README.md",
    backups_are_made_as_it_says: "docs/backup.md",
    the_command_line_is_as_it_says: "docs/command-line.md",
    the_console_is_set_up_as_it_says: "docs/console.md",
    doctor_runs_as_it_says: "docs/doctor.md",
    events_are_followed_as_it_says: "docs/events.md",
    the_hierarchy_is_as_it_says: "docs/hierarchy.md",
    keys_are_put_into_a_token_as_it_says: "docs/hsm.md",
    incidents_are_met_as_it_says: "docs/incidents.md",
    metrics_are_as_it_says: "docs/metrics.md",
    perspectives_are_set_up_as_it_says: "docs/perspectives.md",
    operations_are_as_it_says: "docs/operations.md",
    proxies_are_named_as_it_says: "docs/proxies.md",
    restoring_goes_as_it_says: "docs/restoring.md",
    keys_are_rotated_as_it_says: "docs/rotation.md",
    developers_start_as_it_says: "docs/start-developer.md",
    operators_start_as_it_says: "docs/start-operator.md",
    resellers_start_as_it_says: "docs/start-reseller.md",
    certificates_are_logged_as_it_says: "docs/transparency.md",
}

/// Pages with a dozen ACME clients, and half a hundred commands.
mod slow {
    use std::collections::BTreeSet;

    use crate::markdown::Block;

    pages_are_played! {
        acme_clients_work_as_it_says: "docs/acme.md",
        customers_start_as_it_says: "docs/start-customer.md",
    }

    /// Those that leave something out with `…` cannot be run; `serve` and `demo` need what pages with blocks have.
    #[test]
    fn commands_between_backticks_run_or_name_one_that_does() {
        let mut spans: Vec<String> = super::all().iter().flat_map(|page| super::read(page).spans).collect();
        spans.retain(|span| span.starts_with("chancery ") && !span.contains('…'));
        spans.retain(|span| !["chancery serve", "chancery demo", "chancery pause lift PAUSE"].contains(&span.as_str()));
        let mut known = BTreeSet::new();
        spans.retain(|span| known.insert(span.clone()));
        let blocks = spans.into_iter().zip(1..).map(|(text, line)| Block {
            language: "span".to_owned(),
            text,
            line,
            name: format!("span_{line}"),
            not_run: None,
        });
        super::play_blocks("between-backticks", &blocks.collect::<Vec<_>>());
    }
}

#[test]
fn every_page_with_something_to_run_is_played() {
    let with_plan = all().into_iter().filter(|page| !plan(page, read(page)).is_empty());
    let missing = with_plan.filter(|page| !PAGES.iter().chain(slow::PAGES).any(|played| played == page));
    none(&missing.map(|page| format!("{page} is not played: see playing.rs")).collect::<Vec<_>>());
}

#[test]
fn every_block_is_of_a_kind_that_is_known() {
    let mut wrong = Vec::new();
    for (path, block) in blocks() {
        let known = |language: &str| SHOWN.contains(&language) || PLAYED.contains(&language) || language == "yaml";
        if !known(&block.language) && block.not_run.is_none() && !is_elsewhere(&path, &block) {
            wrong.push(format!("{path}:{}: nothing is done with {:?}", block.line, block.language));
        }
        if block.language == "yaml"
            && let Err(error) = YamlLoader::load_from_str(&block.text)
        {
            wrong.push(format!("{path}:{}: {error}", block.line));
        }
    }
    wrong.extend(
        ELSEWHERE.iter().filter(|(.., test)| !root().join(test).exists()).map(|(.., test)| format!("no {test}")),
    );
    none(&wrong);
}

/// Their commands of ours, with flags, are looked at with all others.
#[test]
fn what_is_not_run_is_little_has_a_reason_and_is_a_script_of_files_that_there_are() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, block) in blocks() {
        let Some(reason) = &block.not_run else { continue };
        count += 1;
        println!("{path}:{}: not run: {reason}", block.line);
        if reason.split(' ').count() < 3 {
            wrong.push(format!("{path}:{}: that is no reason: {reason}", block.line));
        }
        if block.language == "sh" {
            wrong.extend(wrong_script(&block.text).into_iter().map(|what| format!("{path}:{}: {what}", block.line)));
        }
    }
    assert!((5..=10).contains(&count), "{count} blocks are not run");
    none(&wrong);
}

fn wrong_script(text: &str) -> Vec<String> {
    const TOPS: [&str; 4] = ["./scripts/", "packaging/", "scripts/", "docs/"];
    let parsed = Command::new("bash").args(["-n", "-c", text]).output().unwrap();
    let mut wrong = Vec::new();
    if !parsed.status.success() {
        wrong.push(String::from_utf8_lossy(&parsed.stderr).into_owned());
    }
    let words = || text.split_whitespace();
    let missing = words().filter(|word| TOPS.iter().any(|top| word.starts_with(top)) && !root().join(word).exists());
    wrong.extend(missing.map(|word| format!("{word} is not there")));
    let tests = words().zip(words().skip(1)).filter(|(flag, _)| *flag == "--test").map(|(_, name)| name);
    let file = |name: &str| root().join("tests/tests").join(name);
    let missing = tests.filter(|name| !file(name).exists() && !file(&format!("{name}.rs")).exists());
    wrong.extend(missing.map(|name| format!("there is no test {name}")));
    let packages = words().zip(words().skip(1)).filter(|(flag, _)| *flag == "-p").map(|(_, name)| name);
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let missing = packages.filter(|name| name.starts_with("chancery") && !lock.contains(&format!("name = \"{name}\"")));
    wrong.extend(missing.map(|name| format!("there is no package {name}")));
    wrong
}

#[test]
fn a_script_that_is_wrong_is_found() {
    assert!(
        wrong_script("cargo test -p chancery-tests --test book\n./scripts/test --quick\nperf -p \"$(pidof x)\"")
            .is_empty()
    );
    for wrong in ["if", "./scripts/no-such", "cargo test --test none", "cargo test -p chancery-none"] {
        assert_eq!(wrong_script(wrong).len(), 1, "{wrong}");
    }
}

fn all() -> Vec<String> {
    std::iter::once("README.md".to_owned()).chain(book()).collect()
}

fn read(page: &str) -> Markdown {
    Markdown::read(&fs::read_to_string(root().join(page)).unwrap())
}

fn blocks() -> impl Iterator<Item = (String, Block)> {
    all().into_iter().flat_map(|path| read(&path).blocks.into_iter().map(move |block| (path.clone(), block)))
}

fn is_elsewhere(page: &str, block: &Block) -> bool {
    ELSEWHERE.iter().any(|(path, language, _)| *path == page && *language == block.language)
}

/// The blocks that `run` gets to see.
fn plan(page: &str, markdown: Markdown) -> Vec<Block> {
    let played = |block: &Block| block.not_run.is_none() && !is_elsewhere(page, block) && block.language != "yaml";
    let blocks: Vec<_> = markdown.blocks.into_iter().filter(played).collect();
    let something = blocks.iter().any(|block| PLAYED.contains(&block.language.as_str()));
    if something { blocks } else { Vec::new() }
}

pub(crate) fn play(page: &str) {
    play_blocks(page, &plan(page, read(page)));
}

fn play_blocks(page: &str, played: &[Block]) {
    let Some(binary) = std::env::var_os("CHANCERY_TEST_BINARY") else {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "CHANCERY_TEST_BINARY is not set");
        eprintln!("skipped: CHANCERY_TEST_BINARY is not set; ./scripts/test sets it");
        return;
    };
    if let Some(missing) = PROGRAMS.iter().find(|program| !is_installed(program)) {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "{missing} is not installed");
        eprintln!("skipped: {missing} is not installed; ./scripts/test installs it");
        return;
    }
    let logs = [("North", TestLog::start()), ("South", TestLog::start())];
    let describe =
        |(operator, log): &(&str, TestLog)| json!({"operator": operator, "url": log.url(), "key": log.key()});
    let (blocks, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan = write_plan(played, blocks.path());
    // In seconds, and sooner than nextest ends the test: so what runs beside the page is ended too.
    let profile = std::env::var("NEXTEST_PROFILE").unwrap_or_default();
    let limit = match (PAGES.contains(&page), profile.as_str()) {
        (true, "ci") => "285",
        (true, _) => "170",
        (false, _) => "500",
    };
    let played = Command::new("timeout")
        .args(["--kill-after=5", limit, "bash"])
        .arg(root().join("tests/tests/book/run"))
        .arg(page)
        .arg(plan)
        .current_dir(place.path())
        .env_clear()
        .envs(
            ["PATH", "LANG", "TMPDIR", "CHANCERY_TEST_POSTGRES"]
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .env("HOME", place.path())
        .env("CHANCERY_TEST_BINARY", binary)
        .env("PORTS", [(); 12].map(|()| free_port().to_string() + " ").concat())
        .env("LOGS", Value::Array(logs.iter().map(describe).collect()).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success(), "{}\n{said}{}", played.status, String::from_utf8_lossy(&played.stderr));
}

fn is_installed(program: &str) -> bool {
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).any(|place| place.join(program).is_file())
}

fn write_plan(blocks: &[Block], folder: &Path) -> PathBuf {
    let mut lines = String::new();
    for block in blocks {
        let file = folder.join(format!("{}.{}", block.line, block.language));
        fs::write(&file, &block.text).unwrap();
        lines.push_str(&format!("{} {} {} {}\n", block.line, block.language, block.name, file.display()));
    }
    let path = folder.join("plan");
    fs::write(&path, lines).unwrap();
    path
}
