//! What commands print: tables for people, JSON for scripts, from the same values.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstyle::Style;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::failure::Failure;

/// The widest cell of a table in a terminal; what goes elsewhere has it all, and so has JSON.
const WIDEST: usize = 80;

/// Named values in the order in which they are shown. What is null is left out.
pub struct Record(pub Vec<(&'static str, Value)>);

/// `record! { "name" => value, … }`
macro_rules! record {
    ($($name:literal => $value:expr),* $(,)?) => {
        $crate::print::Record(vec![$(($name, serde_json::json!($value))),*])
    };
}
pub(crate) use record;

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let present: Vec<_> = self.0.iter().filter(|(_, value)| !value.is_null()).collect();
        let mut map = serializer.serialize_map(Some(present.len()))?;
        for (name, value) in present {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Prints in one of the two ways.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    pub json: bool,
}

impl Printer {
    /// One thing, with a sentence for people below it.
    pub fn record(self, record: &Record, note: Option<&str>) -> Result<(), Failure> {
        out(&self.written(record, note)?)
    }

    fn written(self, record: &Record, note: Option<&str>) -> Result<String, Failure> {
        if self.json {
            return json(record);
        }
        let width = record.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut lines = String::new();
        let bold = Style::new().bold();
        for (name, value) in record.0.iter().filter(|(_, value)| !value.is_null()) {
            let name = format!("{:width$}", name.replace('_', " "));
            lines.push_str(&format!("{bold}{name}{bold:#}  {}\n", shown(value)));
        }
        if let Some(note) = note {
            lines.push_str(&format!("\n{note}\n"));
        }
        Ok(lines)
    }

    /// Something with a secret that is shown only this once; `lost` is what to do where nobody reads it.
    pub fn secret(self, record: &Record, note: &str, lost: impl std::fmt::Display) -> Result<(), Failure> {
        write(&self.written(record, Some(note))?).map_err(|error| unwritable(&error).advise(lost))
    }

    /// Many things of one kind. People see the columns named; JSON has everything.
    pub fn table(self, columns: &[&'static str], records: &[Record]) -> Result<(), Failure> {
        let widest = if io::stdout().is_terminal() { WIDEST } else { usize::MAX };
        self.table_within(widest, columns, records)
    }

    /// Many things of one kind, with nothing cut, in a terminal neither: half an advice helps nobody.
    pub fn whole_table(self, columns: &[&'static str], records: &[Record]) -> Result<(), Failure> {
        self.table_within(usize::MAX, columns, records)
    }

    fn table_within(self, widest: usize, columns: &[&'static str], records: &[Record]) -> Result<(), Failure> {
        if self.json {
            return out(&json(&records)?);
        }
        let cell = |record: &Record, column: &str| {
            let value = record.0.iter().find(|(name, _)| *name == column).map(|(_, value)| shown(value));
            value.unwrap_or_default()
        };
        let row = |record: &Record| columns.iter().map(|column| clipped(cell(record, column), widest)).collect();
        let rows: Vec<Vec<String>> = records.iter().map(row).collect();
        out(&aligned(columns, &rows))
    }

    /// A sentence for people, or a value for scripts.
    pub fn say(self, sentence: &str, record: &Record) -> Result<(), Failure> {
        out(&if self.json { json(record)? } else { format!("{sentence}\n") })
    }
}

/// Writes to standard output, in colours where that is a terminal. A reader that has seen enough (`| head`) is fine.
pub fn out(text: &str) -> Result<(), Failure> {
    match write(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(&error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes a line to standard error, if there is anybody to read it: the exit code tells the same.
pub fn complain(line: &str) {
    let text = match anstream::stderr().current_choice() {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(line).to_string(),
        _ => line.to_owned(),
    };
    chancery_machine::tell(&text);
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    Ok(text + "\n")
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write to standard output: {error}"))
}

fn aligned(columns: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<_> = columns.iter().map(|column| column.replace('_', " ")).collect();
    let longest = |place: usize| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> =
        head.iter().enumerate().map(|(place, name)| name.chars().count().max(longest(place))).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let bold = Style::new().bold();
    let mut text = format!("{bold}{}{bold:#}\n", line(&head));
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

/// Short enough for a line of a table.
fn clipped(text: String, widest: usize) -> String {
    if text.chars().count() <= widest {
        return text;
    }
    text.chars().take(widest.saturating_sub(1)).chain(['…']).collect()
}

/// A value as people read it: what a stranger sent cannot move the cursor or change colours.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
        }
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = [vec!["ä".to_owned(), "x".to_owned()], vec!["long".to_owned(), String::new()]];
        let text = anstream::adapter::strip_str(&aligned(&["a", "the_b"], &rows)).to_string();
        assert_eq!(text, "a     the b\nä     x\nlong\n");
    }

    #[test]
    fn a_cell_is_cut_only_where_room_is_short() {
        assert_eq!(clipped("größer".to_owned(), 6), "größer");
        assert_eq!(clipped("größer".to_owned(), 5), "größ…");
        let long = "x".repeat(WIDEST + 1);
        assert_eq!(clipped(long.clone(), usize::MAX), long);
    }

    #[test]
    fn json_keeps_the_order_and_leaves_out_what_is_not_there() {
        let record = record! { "z" => 1, "a" => None::<u8>, "b" => "x" };
        assert_eq!(serde_json::to_string(&record).unwrap(), r#"{"z":1,"b":"x"}"#);
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(shown(&Value::from("a\u{1b}[2Jb")), "a?[2Jb");
    }
}
