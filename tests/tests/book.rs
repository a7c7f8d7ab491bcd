//! The pages of `docs/` hold together: each is in the book, links lead somewhere, and the commands, settings, files and
//! tests that they name are there. Nothing is run but `chancery --help`.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages that the book has a place for and that are written elsewhere. Empty once they are all there.
const ANNOUNCED: &[&str] = &["command-line.md", "console.md", "doctor.md", "events.md", "limits.md", "restoring.md"];

/// What is read beside the book itself.
const OTHERS: &[&str] = &["README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "fuzz/README.md"];

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
    let missing = |page: &&String| !there.contains(page) && !ANNOUNCED.contains(&page.as_str());
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
        let blocks = page.blocks.iter().filter(|(language, _)| language == "toml");
        let written = blocks.flat_map(|(_, text)| settings(text, false));
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
        let shell = page.blocks.iter().filter_map(|(language, text)| match language.as_str() {
            "sh" => Some(text.clone()),
            "console" => Some(typed(text)),
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
    assert_eq!(dead_end("docs/README.md", "../README.md#run-it"), None);
    assert!(missing_file("tests/tests/book.rs::no_such_test").is_some());
    assert!(missing_file("tests/tests/no_such_file.rs").is_some());
    assert_eq!(missing_file("tests/tests/book.rs::what_is_wrong_is_found"), None);
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The pages of the book, from the root of the repository.
fn book() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    names.sort();
    names
}

fn pages() -> Vec<(String, Markdown)> {
    let paths = book().into_iter().chain(OTHERS.iter().map(|path| (*path).to_owned()));
    paths.map(|path| (path.clone(), Markdown::read(&fs::read_to_string(root().join(&path)).unwrap()))).collect()
}

/// What matters of a page.
struct Markdown {
    /// As the fragments of addresses name them.
    headings: Vec<String>,
    links: Vec<String>,
    /// What stands between backticks.
    spans: Vec<String>,
    /// Fenced blocks, by their language.
    blocks: Vec<(String, String)>,
}

impl Markdown {
    fn read(text: &str) -> Self {
        let (mut headings, mut blocks, mut prose) = (Vec::new(), Vec::new(), String::new());
        let mut fence: Option<(String, String)> = None;
        for line in text.lines() {
            match (line.trim_start().strip_prefix("```"), fence.as_mut()) {
                (Some(_), Some(_)) => blocks.extend(fence.take()),
                (Some(language), None) => fence = Some((language.trim().to_owned(), String::new())),
                (None, Some((_, inside))) => {
                    inside.push_str(line);
                    inside.push('\n');
                }
                (None, None) => {
                    if line.starts_with('#') {
                        let heading = unused(slug(line.trim_start_matches('#').trim()), &headings);
                        headings.push(heading);
                    }
                    prose.push_str(line);
                    prose.push('\n');
                }
            }
        }
        let (plain, spans) = without_code(&prose);
        Self { headings, links: links(&plain), spans, blocks }
    }
}

/// A heading that there was before gets a number.
fn unused(slug: String, known: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{slug}-{number}"));
    std::iter::once(slug.clone()).chain(numbered).find(|name| !known.contains(name)).unwrap()
}

/// As code hosts and mdBook make it of a heading.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The text without what stands between backticks, and that. A span may be broken over lines, not over paragraphs.
fn without_code(text: &str) -> (String, Vec<String>) {
    let (mut plain, mut spans, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find('`') {
        plain.push_str(&rest[..start]);
        let ticks = &rest[start..rest.len() - rest[start..].trim_start_matches('`').len()];
        let inside = &rest[start + ticks.len()..];
        let end = inside.find(ticks).filter(|end| !inside[..*end].contains("\n\n"));
        rest = match end {
            Some(end) => {
                spans.push(inside[..end].split_whitespace().collect::<Vec<_>>().join(" "));
                &inside[end + ticks.len()..]
            }
            None => inside,
        };
    }
    (plain + rest, spans)
}

fn links(plain: &str) -> Vec<String> {
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).collect()
}

/// Why a link of this page leads nowhere. Other sites are not asked.
fn dead_end(page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let from = root().join(page);
    let target = if path.is_empty() { from } else { from.parent().unwrap().join(path) };
    if !target.exists() {
        let announced = page.starts_with("docs/") && ANNOUNCED.contains(&path);
        return (!announced).then(|| format!("({link}) is not there"));
    }
    if fragment.is_empty() {
        return None;
    }
    let headings = Markdown::read(&fs::read_to_string(&target).ok()?).headings;
    (!headings.iter().any(|heading| heading == fragment)).then(|| format!("({link}) has no such heading"))
}

/// Why what looks like a file of the repository, or a test in one (`file::test`), is none.
fn missing_file(span: &str) -> Option<String> {
    const TOPS: [&str; 11] =
        ["app/", "core/", "doors/", "adapters/", "libs/", "tests/", "testkit/", "scripts/", "fuzz/", "bench/", "docs/"];
    if !TOPS.iter().any(|top| span.starts_with(top)) || span.contains([' ', '*', '{', '…']) {
        return None;
    }
    let (path, test) = span.split_once("::").map_or((span, None), |(path, test)| (path, Some(test)));
    let path_there = root().join(path);
    if !path_there.exists() {
        let announced = path.strip_prefix("docs/").is_some_and(|page| ANNOUNCED.contains(&page));
        return (!announced).then(|| format!("`{span}` is not there"));
    }
    let named = |name: &str| fs::read_to_string(&path_there).unwrap_or_default().contains(&format!("fn {name}("));
    test.filter(|test| !named(test)).map(|test| format!("`{path}` has no test {test}"))
}

/// The settings that are written in TOML, by their full names, and their sections; with those that are commented out by a
/// `#` right before them, where that is asked for.
fn settings(text: &str, commented: bool) -> BTreeSet<String> {
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
fn named_setting(span: &str, known: &BTreeSet<String>) -> Option<String> {
    const FILES: [&str; 7] = ["sh", "rs", "pem", "json", "toml", "md", "py"];
    let name = span.split(" = ").next()?;
    let (section, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    let plain =
        name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_.".contains(letter));
    (plain && name.contains('.') && known.contains(section) && !FILES.contains(&last)).then(|| name.to_owned())
}

/// Whether the code below a folder has this text: what looks like a setting may be an action of the audit trail, or an event.
fn is_said_in(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        (path.is_dir() && is_said_in(&path, text)) || (is_code && fs::read_to_string(&path).unwrap().contains(text))
    })
}

/// What `--help` says there is.
#[derive(Clone)]
struct Help {
    commands: BTreeSet<String>,
    flags: BTreeSet<String>,
}

impl Help {
    fn read(text: &str) -> Self {
        let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let commands = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).map(first).collect();
        let options = text.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let words = options.flat_map(|line| line.split_whitespace().take(2));
        let flags = words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned());
        Self { commands, flags: flags.map(|flag| flag.trim_end_matches("...").to_owned()).collect() }
    }
}

/// What was typed of a session in a terminal: the lines after `$ `, and those that go on after a `\\`.
fn typed(text: &str) -> String {
    let mut goes_on = false;
    let typed = text.lines().filter_map(|line| {
        let line = if goes_on { Some(line) } else { line.strip_prefix("$ ") };
        goes_on = line.is_some_and(|line| line.ends_with('\\'));
        line
    });
    typed.map(|line| format!("{line}\n")).collect()
}

/// The commands of ours in a shell's text, each as the words after `chancery`.
fn commands(text: &str) -> Vec<Vec<String>> {
    let words = shell(text);
    words.split(|word| word.is_none()).filter_map(|words| ours(&words.iter().flatten().collect::<Vec<_>>())).collect()
}

fn ours(words: &[&String]) -> Option<Vec<String>> {
    let is_ours = |word: &str| word == "chancery" || word.ends_with("/chancery");
    let words: Vec<&String> = words.iter().copied().skip_while(|word| word.contains('=')).collect();
    let after = match words.first().map(|word| word.as_str()) {
        Some("sudo") => words.iter().rposition(|word| is_ours(word))?,
        Some("cargo") if words.get(1).is_some_and(|word| *word == "run") => {
            // Of another package or program it would be another's.
            let chosen = words.iter().position(|word| ["-p", "--package", "--bin"].contains(&word.as_str()));
            chosen.is_none_or(|place| words[place + 1] == "chancery").then_some(())?;
            words.iter().position(|word| *word == "--")?
        }
        Some(word) if is_ours(word) => 0,
        _ => return None,
    };
    Some(words[after + 1..].iter().map(|word| (*word).clone()).collect())
}

/// The words, with nothing between two commands; comments are left out.
fn shell(text: &str) -> Vec<Option<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None) if letters.peek() == Some(&'\n') => drop(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.push(letter),
            ('"' | '\'', None) => quote = Some(letter),
            ('#', None) if word.is_empty() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (';' | '|' | '&' | '(' | ')' | '\n', None) => {
                words.extend((!word.is_empty()).then(|| Some(std::mem::take(&mut word))));
                words.push(None);
            }
            (' ' | '\t', None) => words.extend((!word.is_empty()).then(|| Some(std::mem::take(&mut word)))),
            (letter, None) => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(Some(word)));
    words
}

/// What of a command there is not.
fn unknown(
    command: &[String],
    known: &mut BTreeMap<Vec<String>, Help>,
    help: &mut impl FnMut(&[String]) -> Help,
) -> Option<String> {
    let (mut path, mut flags, mut value) = (Vec::new(), Vec::new(), false);
    let mut here = |path: &[String]| known.entry(path.to_vec()).or_insert_with(|| help(path)).clone();
    for word in command {
        if word.starts_with(['<', '>']) || word.starts_with("2>") || word.contains('…') {
            break;
        }
        if word.starts_with("--") {
            flags.push(word.split('=').next().unwrap_or(word));
            value = true;
            continue;
        }
        let commands = here(&path).commands;
        if commands.contains(word) {
            path.push(word.clone());
        } else if !commands.is_empty() && !value {
            return Some(format!("there is no `chancery {} {word}`", path.join(" ")));
        }
        value = false;
    }
    let there = here(&path).flags;
    let missing = flags.into_iter().find(|flag| !there.contains(*flag));
    missing.map(|flag| format!("`chancery {}` has no {flag}", path.join(" ")))
}
