//! Tables for people: aligned, no wider than the terminal, in colours where there are any.

use std::io::{self, IsTerminal};

use anstyle::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;

/// A cut column keeps at least so much.
const NARROWEST: usize = 14;
const GAP: &str = "  ";

/// What stands above a column, and whether its cells may be cut where room is short.
#[derive(Clone, Copy)]
pub enum Column {
    /// Has to be whole: something that is copied.
    Whole(&'static str),
    /// Can be cut.
    Text(&'static str),
}

impl Column {
    const fn head(&self) -> &'static str {
        match self {
            Self::Whole(head) | Self::Text(head) => head,
        }
    }
}

/// A text in a table, and how it looks.
#[derive(Clone, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A status, in the colour of what it means.
    pub fn status(text: &str) -> Self {
        let style = match text {
            "active" | "valid" | "issued" | "bound" | "ready" | "done" => AnsiColor::Green.on_default(),
            "pending" | "processing" | "unused" | "suspended" | "waiting" => AnsiColor::Yellow.on_default(),
            "invalid" | "revoked" | "failed" | "terminated" => AnsiColor::Red.on_default(),
            // Over, and nobody's fault.
            _ => Style::new().dimmed(),
        };
        Self { style, ..text.into() }
    }

    /// What is there, or else nothing.
    pub fn maybe(text: Option<&String>) -> Self {
        text.map_or_else(Self::default, |text| text.as_str().into())
    }

    /// A time, short enough for a table: seconds and zone are the same everywhere.
    pub fn time(text: &str) -> Self {
        match text.get(..16) {
            Some(minutes) => minutes.replace('T', " ").into(),
            None => text.into(),
        }
    }

    pub fn list<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Self {
        items.into_iter().map(|item| item.as_ref().to_owned()).collect::<Vec<_>>().join(", ").into()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Padded to a width, or cut to it.
    fn fitted(&self, width: usize) -> String {
        let style = self.style;
        let text = match self.width() > width {
            true => self.text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
            false => self.text.clone(),
        };
        let padding = " ".repeat(width.saturating_sub(text.chars().count()));
        format!("{style}{text}{style:#}{padding}")
    }
}

/// What a stranger sent cannot move the cursor or change colours.
impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        let text = text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
        Self { text, style: Style::new() }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// All rows below their heads.
pub fn table(columns: &[Column], rows: &[Vec<Cell>], room: Option<usize>) -> String {
    let widths = widths(columns, rows, room);
    let bold = Style::new().bold();
    let heads: Vec<_> = columns.iter().map(|column| Cell { style: bold, ..column.head().into() }).collect();
    let line = |cells: &[Cell]| {
        let cells: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| cell.fitted(*width)).collect();
        format!("{}\n", cells.join(GAP).trim_end())
    };
    std::iter::once(line(&heads)).chain(rows.iter().map(|row| line(row))).collect()
}

/// One thing: each value beside its name. What is empty is left out.
pub fn details(values: &[(&str, Cell)]) -> String {
    let present: Vec<_> = values.iter().filter(|(_, cell)| !cell.is_empty()).collect();
    let width = present.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let bold = Style::new().bold();
    let line = |(name, cell): &&(&str, Cell)| {
        let style = cell.style;
        format!("{bold}{name:width$}{bold:#}{GAP}{style}{}{style:#}\n", cell.text)
    };
    present.iter().map(line).collect()
}

/// How wide the terminal is; nothing where there is none, and everything is printed whole.
pub fn room() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// As wide as the longest cell; where that is too much, the widest that can be cut gives way first.
fn widths(columns: &[Column], rows: &[Vec<Cell>], room: Option<usize>) -> Vec<usize> {
    let longest = |place: usize| rows.iter().map(|row| row[place].width()).max().unwrap_or(0);
    let mut widths: Vec<_> =
        columns.iter().enumerate().map(|(place, column)| column.head().chars().count().max(longest(place))).collect();
    let Some(room) = room else { return widths };
    let gaps = GAP.len() * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let cuttable = columns.iter().enumerate().filter(|(_, column)| matches!(column, Column::Text(_)));
        let widest = cuttable.map(|(place, _)| place).max_by_key(|place| widths[*place]);
        match widest {
            Some(place) if widths[place] > NARROWEST => widths[place] -= 1,
            Some(_) | None => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[[&str; 3]], room: Option<usize>) -> String {
        let columns = [Column::Whole("lookup"), Column::Text("names"), Column::Text("email")];
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(|text| (*text).into()).collect()).collect();
        anstream::adapter::strip_str(&table(&columns, &rows, room)).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let text = drawn(&[["ord_1", "ä", "x"], ["ord_22", "long one", ""]], None);
        assert_eq!(text, "lookup  names     email\nord_1   ä         x\nord_22  long one\n");
    }

    #[test]
    fn where_room_is_short_the_widest_text_is_cut_and_what_is_copied_is_not() {
        let lookup = "ord_01jcq3v9k2e7x8t5m4n6p0r1sw";
        let row = [lookup, "a.example.com, b.example.com, c.example.com", "someone@example.com"];
        let text = drawn(&[row], Some(70));
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
        assert!(text.contains(lookup) && text.contains("a.example.com, b.…"), "{text}");
        // Too narrow for anything: whole lookups still, wrapped by the terminal.
        assert!(drawn(&[row], Some(20)).contains(lookup));
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(drawn(&[["a\u{1b}[2Jb", "", ""]], None).lines().nth(1), Some("a?[2Jb"));
    }

    #[test]
    fn details_leave_out_what_is_not_there() {
        let text = details(&[("lookup", "x".into()), ("label", Cell::default()), ("status", Cell::status("issued"))]);
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "lookup  x\nstatus  issued\n");
    }
}
