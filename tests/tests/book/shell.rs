//! The commands that pages show, and what `chancery --help` says of them.

use std::collections::{BTreeMap, BTreeSet};

/// What `--help` says there is.
#[derive(Clone)]
pub(crate) struct Help {
    commands: BTreeSet<String>,
    flags: BTreeSet<String>,
}

impl Help {
    pub(crate) fn read(text: &str) -> Self {
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
pub(crate) fn typed(text: &str) -> String {
    let mut goes_on = false;
    let typed = text.lines().filter_map(|line| {
        let line = if goes_on { Some(line) } else { line.strip_prefix("$ ") };
        goes_on = line.is_some_and(|line| line.ends_with('\\'));
        line
    });
    typed.map(|line| format!("{line}\n")).collect()
}

/// The commands of ours in a shell's text, each as the words after `chancery`.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let words = shell(text);
    words.split(|word| word.is_none()).filter_map(|words| ours(&words.iter().flatten().collect::<Vec<_>>())).collect()
}

fn ours(words: &[&String]) -> Option<Vec<String>> {
    let is_ours = |word: &str| word == "chancery" || word.ends_with("/chancery");
    let words: Vec<&String> = words.iter().copied().skip_while(|word| word.contains('=')).collect();
    let after = match words.first().map(|word| word.as_str()) {
        Some("sudo" | "runuser") => words.iter().rposition(|word| is_ours(word))?,
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
pub(crate) fn unknown(
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
