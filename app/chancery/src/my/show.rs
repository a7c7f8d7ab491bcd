//! What commands print: for people, or the API's own JSON for scripts.

use chancery_client::Pages;
use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::table::{Cell, Column, room, table};
use super::trouble::Trouble;
use crate::failure::Failure;
use crate::print::{complain, out};

/// The largest page the API gives.
const LARGEST_PAGE: u32 = 1000;

/// Which part of a list.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Show at most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Show all there are
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Go on after an earlier list, by its `nextCursor`
    #[arg(long)]
    pub cursor: Option<String>,
}

/// Part of a list, as the API shows it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed<T> {
    pub items: Vec<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl ListArgs {
    /// As many items as were asked for; a page of the API may have fewer.
    pub async fn fetch<T: DeserializeOwned>(&self, mut pages: Pages<T>) -> Result<Listed<T>, chancery_client::Error> {
        let wanted = if self.all { usize::MAX } else { usize::try_from(self.limit).unwrap_or(usize::MAX) };
        let mut items = Vec::new();
        while items.len() < wanted {
            let missing = u32::try_from(wanted - items.len()).unwrap_or(u32::MAX);
            pages.page_size(missing.min(LARGEST_PAGE));
            match pages.next_page().await? {
                Some(page) => items.extend(page),
                None => break,
            }
        }
        Ok(Listed { items, next_cursor: pages.next_cursor().map(str::to_owned) })
    }
}

/// Prints in one of the two ways.
#[derive(Clone, Copy)]
pub struct Show {
    pub json: bool,
}

impl Show {
    /// A thing: its JSON, or what people read of it.
    pub fn thing(self, thing: &impl Serialize, people: impl FnOnce() -> String) -> Result<(), Failure> {
        out(&if self.json { pretty(thing)? } else { people() })
    }

    /// A list, and how to see more of it.
    pub fn list<T: Serialize>(
        self,
        listed: &Listed<T>,
        columns: &[Column],
        row: impl Fn(&T) -> Vec<Cell>,
    ) -> Result<(), Failure> {
        if listed.items.is_empty() && !self.json {
            self.note("There are none.");
            return Ok(());
        }
        self.thing(listed, || table(columns, &listed.items.iter().map(row).collect::<Vec<_>>(), room()))?;
        if listed.next_cursor.is_some() {
            self.note("There are more: add --all, or a higher --limit.");
        }
        Ok(())
    }

    /// A sentence of the service that something is done.
    pub fn done(self, message: &str) -> Result<(), Failure> {
        self.thing(&json!({"success": true, "message": message}), || format!("{message}\n"))
    }

    /// Something people should know, beside what was asked for.
    pub fn note(self, text: &str) {
        if !self.json {
            complain(text);
        }
    }
}

fn pretty(thing: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(thing).map_err(Failure::failed)? + "\n")
}

/// What a call to the service brought, or what people do about its refusal.
pub trait OrTrouble<T> {
    fn or_trouble(self, trouble: &Trouble) -> Result<T, Failure>;
}

impl<T> OrTrouble<T> for Result<T, chancery_client::Error> {
    fn or_trouble(self, trouble: &Trouble) -> Result<T, Failure> {
        self.map_err(|error| trouble.explain(error))
    }
}
