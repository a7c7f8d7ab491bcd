//! The configuration file and the environment: read, checked as a whole, and turned into an [`Installation`].

mod environment;
mod log_list;
mod problems;
mod settle;
mod shape;
pub mod span;
mod types;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

pub use environment::PREFIX;
pub use problems::{Problem, Problems};
pub use settle::{IDEMPOTENCY_WINDOW, read_logs_again};
pub use types::Ct;

use crate::failure::Failure;
use crate::installation::Installation;
use types::{Config, Specimen};

/// What is wrong with a configuration.
pub enum ConfigError {
    /// It cannot be read at all.
    Unreadable(Failure),
    /// Settings are wrong, all of them told.
    Wrong(PathBuf, Problems),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Unreadable(failure) => failure,
            ConfigError::Wrong(path, problems) => Failure::usage(format!("{}: {problems}", path.display()))
                .advise("mend this, and see `chancery check-config`"),
        }
    }
}

/// Reads a configuration file with the environment over it. A relative path in it starts at the file's own folder.
pub fn load(path: &Path, database_url: Option<&str>) -> Result<Installation, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let failure = Failure::usage(format!("cannot read the configuration {}: {error}", path.display()));
        ConfigError::Unreadable(failure.advise("name it with --config; chancery.example.toml is one to start from"))
    })?;
    let wrong = |problems| ConfigError::Wrong(path.to_owned(), problems);
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    read(&text, environment::variables(), database_url).and_then(|read| read.settle(&path)).map_err(wrong)
}

/// What was written, as far as it has the form of a configuration, and what has not.
struct Read {
    config: Config,
    misfits: Problems,
    /// The sections in which a value is missing that is no value as it was written.
    incomplete: BTreeSet<String>,
}

impl Read {
    /// What it means; everything that is wrong is told, also of what has the form.
    fn settle(self, path: &Path) -> Result<Installation, Problems> {
        let Self { config, mut misfits, incomplete } = self;
        let settled = settle::settle(&config, path);
        if misfits.is_empty() {
            return settled;
        }
        // Of an incomplete section more could be told that is not so.
        let told = settled.err().map(|problems| problems.0).unwrap_or_default();
        misfits.0.extend(told.into_iter().filter(|problem| !incomplete.contains(section(&problem.setting))));
        Err(misfits)
    }
}

/// The sections that lack what was written without having the form, and those that rest on them.
fn incomplete(misfits: &Problems, shape: &Table) -> BTreeSet<String> {
    /// What is judged by what stands in another section.
    const RESTS_ON: [(&str, &str); 5] =
        [("identity", "server"), ("dcv", "server"), ("profiles", "dcv"), ("profiles", "ct"), ("policy", "profiles")];
    let lacking = |problem: &Problem| {
        let written = match problem.setting.strip_prefix(PREFIX) {
            Some(variable) => variable.split("__").next().unwrap_or_default().to_lowercase(),
            None => section(&problem.setting).to_owned(),
        };
        match shape::meant(&problem.message) {
            // Nobody can tell what was meant: something that there is not at all, as it seems.
            Some(None) => Vec::new(),
            // A section was meant.
            Some(Some(near)) if !shape.contains_key(&written) => vec![written, near.to_owned()],
            Some(Some(_)) | None => vec![written],
        }
    };
    let mut found: BTreeSet<_> = misfits.0.iter().flat_map(lacking).collect();
    for (section, other) in RESTS_ON {
        if found.contains(other) {
            found.insert(section.to_owned());
        }
    }
    found
}

/// The section that a setting is in.
fn section(setting: &str) -> &str {
    setting.split('.').next().unwrap_or_default()
}

fn read(
    text: &str,
    variables: impl Iterator<Item = (String, String)>,
    database_url: Option<&str>,
) -> Result<Read, Problems> {
    let mut problems = Problems::default();
    let mut written = parse(text).map_err(|problem| Problems(vec![problem]))?;
    let shape = shape();
    if written.get("keys").and_then(|keys| keys.get("kek")).is_some() {
        let variable = format!("{PREFIX}KEYS__KEK");
        problems.add("keys.kek", format!("a key does not belong into this file; set {variable} or keys.kek_file"));
    }
    environment::apply(&mut written, &shape, variables, &mut problems);
    if let Some(url) = database_url {
        let database = written.entry("database").or_insert_with(|| Value::Table(Table::new()));
        if let Some(database) = database.as_table_mut() {
            database.insert("url".to_owned(), Value::String(url.to_owned()));
        }
    }
    shape::compare(&mut written, &shape, &mut problems);
    let incomplete = incomplete(&problems, &shape);
    match Config::deserialize(Value::Table(written)) {
        Ok(config) => Ok(Read { config, misfits: problems, incomplete }),
        Err(error) => {
            problems.add("configuration", error.message());
            Err(problems)
        }
    }
}

fn parse(text: &str) -> Result<Table, Problem> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        Problem { setting: format!("line {line}"), message }
    })
}

/// Every setting there is.
fn shape() -> Table {
    let shape = Value::try_from(Config::specimen());
    let Ok(Value::Table(shape)) = shape else { unreachable!("a configuration is a table of tables") };
    shape
}

#[cfg(test)]
mod tests;
