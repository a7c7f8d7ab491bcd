//! The configuration file and the environment: read, checked as a whole, and turned into an [`Installation`].

mod environment;
mod log_list;
mod problems;
mod settle;
mod shape;
pub mod span;
mod types;

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
    let config = read(&text, environment::variables(), database_url).map_err(wrong)?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    settle::settle(&config, &path).map_err(wrong)
}

fn read(
    text: &str,
    variables: impl Iterator<Item = (String, String)>,
    database_url: Option<&str>,
) -> Result<Config, Problems> {
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
    shape::compare(&written, &shape, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    Config::deserialize(Value::Table(written)).map_err(|error| {
        problems.add("configuration", error.message());
        problems
    })
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
