//! The manual pages, and `docs/command-line.md`: every command of its session is run, and what it prints is what is
//! written there.
//!
//! `UPDATE_DOCS=1 cargo test -p chancery --test chancery my::manual` writes the answers anew.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::shop::Shop;
use crate::command_line::commands;
use crate::support::*;

#[test]
fn every_command_has_a_manual_page() {
    let place = folder();
    let folder = place.path().join("man1");
    run(&["man", "--dir", folder.to_str().unwrap()]).ok();
    let names = commands().into_iter().map(|(command, _)| format!("chancery-{}", command.join("-")));
    for name in names.chain(["chancery".to_owned()]) {
        let page =
            fs::read_to_string(folder.join(format!("{name}.1"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn the_session_in_the_documentation_goes_as_it_is_written() {
    let shop = Shop::closed();
    symlink(shop.data(), shop.at_home("chancery-data")).unwrap();
    symlink(shop.webroot(), shop.at_home("www")).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-line.md");
    let written = fs::read_to_string(&path).unwrap();
    let told = Session { shop: &shop, masks: Masks::default() }.play(&written);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &told).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        told,
        "docs/command-line.md is not what happens: UPDATE_DOCS=1 cargo test -p chancery --test chancery my::manual"
    );
}

struct Session<'a> {
    shop: &'a Shop,
    masks: Masks,
}

impl Session<'_> {
    /// The document, with the answers to its commands as they are now.
    fn play(mut self, document: &str) -> String {
        let (mut told, mut inside) = (String::new(), false);
        for line in document.lines() {
            match inside {
                // Of what was answered before, nothing is kept.
                true if !line.starts_with("$ ") && line != "```" => continue,
                true | false => told.push_str(&format!("{line}\n")),
            }
            if line.starts_with("```") {
                inside = line == "```console";
            }
            if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
                told.push_str(&self.answer(command));
            }
        }
        told
    }

    fn answer(&mut self, command: &str) -> String {
        let real = self.masks.reveal(command);
        let binary = Path::new(env!("CARGO_BIN_EXE_chancery")).parent().unwrap();
        let mut shell = Command::new("bash");
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CHANCERY_PROFILE"] {
            shell.env_remove(variable);
        }
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        shell.env("HOME", self.shop.home.path()).env("PATH", path).current_dir(self.shop.home.path());
        let outcome = outcome(shell.args(["-c", &format!("{{ {real}; }} 2>&1")]));
        assert_eq!(outcome.code, 0, "{command}: {outcome:?}");
        let text: String =
            outcome.stdout.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect();
        let text = text.replace(self.shop.dev.value("base_url"), "https://127.0.0.1:8443");
        let text = text.replace(self.shop.data().to_str().unwrap(), "/srv/shop/chancery-data");
        self.masks.hide(&text.replace(self.shop.home.path().to_str().unwrap(), "/srv/shop"))
    }
}

/// How much of it is seen depends on who is faster.
fn is_progress(line: &str) -> bool {
    ["validation: ", "asked for the certificate", "waiting for ", "the order is "]
        .iter()
        .any(|begin| line.starts_with(begin))
}

/// What is different each time stands in the document as something of the same length that is always the same.
#[derive(Default)]
struct Masks {
    shown: BTreeMap<String, String>,
}

impl Masks {
    fn hide(&mut self, text: &str) -> String {
        let mut hidden = String::new();
        let mut word = String::new();
        for letter in text.chars().chain(['\n']) {
            if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') {
                word.push(letter);
                continue;
            }
            hidden.push_str(&self.mask(&std::mem::take(&mut word)));
            hidden.push(letter);
        }
        hidden.pop();
        without_times(&hidden)
    }

    /// A command as it has to be run now.
    fn reveal(&self, command: &str) -> String {
        self.shown.iter().fold(command.to_owned(), |command, (real, shown)| command.replace(shown, real))
    }

    fn mask(&mut self, word: &str) -> String {
        let lookup = word.split_once('_').filter(|(_, id)| id.len() == 26 && !id.contains('_'));
        let is_uuid = word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let next = self.shown.len() + 1;
        match (lookup, is_uuid, word.len()) {
            (Some((kind, _)), ..) => {
                self.shown.entry(word.to_owned()).or_insert_with(|| format!("{kind}_{next:026}")).clone()
            }
            (None, true, _) => {
                let shown = || format!("00000000-0000-4000-8000-{next:012}");
                self.shown.entry(word.to_owned()).or_insert_with(shown).clone()
            }
            // Tokens, thumbprints and keys.
            (None, false, 43 | 64) => "…".to_owned(),
            _ => word.to_owned(),
        }
    }
}

/// Every date becomes the same, every time midnight.
fn without_times(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let digits = |letters: &[char], pattern: &str| {
        letters.iter().zip(pattern.chars()).all(|(letter, wanted)| match wanted {
            '0' => letter.is_ascii_digit(),
            ' ' => matches!(letter, ' ' | 'T'),
            other => *letter == other,
        })
    };
    for place in 0..letters.len().saturating_sub(15) {
        if digits(&letters[place..], "0000-00-00 00:00") {
            letters[place..place + 10].copy_from_slice(&['2', '0', '2', '6', '-', '1', '1', '-', '1', '5']);
            letters[place + 11..place + 16].copy_from_slice(&['0', '0', ':', '0', '0']);
            if letters.len() > place + 18 && letters[place + 16] == ':' {
                letters[place + 17..place + 19].copy_from_slice(&['0', '0']);
            }
        }
    }
    letters.into_iter().collect()
}
