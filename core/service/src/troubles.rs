//! What this node has warned of and complained about lately: the newest lines of its log, for the operator to look at.

use std::collections::VecDeque;
use std::sync::Arc;

use chancery_domain::Timestamp;
use parking_lot::Mutex;

/// So many are kept; an older one goes for each that comes.
pub const KEPT_TROUBLES: usize = 100;
/// Longer texts are cut: a place, a message, a name or value of a field.
const LONGEST: usize = 500;
/// Of one line, no more fields are kept.
const MOST_FIELDS: usize = 20;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Warning,
    Error,
}

impl Severity {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub at: Timestamp,
    pub severity: Severity,
    /// The part of the program that said it.
    pub place: String,
    pub message: String,
    pub fields: Vec<(String, String)>,
}

/// The newest lines, in memory alone. Clones share them.
#[derive(Clone, Default)]
pub struct Troubles {
    lines: Arc<Mutex<VecDeque<Trouble>>>,
}

impl Troubles {
    pub fn note(&self, trouble: Trouble) {
        let Trouble { at, severity, place, message, mut fields } = trouble;
        fields.truncate(MOST_FIELDS);
        let fields = fields.into_iter().map(|(name, value)| (cut(name), cut(value))).collect();
        let trouble = Trouble { at, severity, place: cut(place), message: cut(message), fields };
        let mut lines = self.lines.lock();
        if lines.len() >= KEPT_TROUBLES {
            lines.pop_back();
        }
        lines.push_front(trouble);
    }

    /// Newest first.
    pub fn list(&self) -> Vec<Trouble> {
        self.lines.lock().iter().cloned().collect()
    }
}

/// As much of a text as is kept.
fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(number: i64, text: &str) -> Trouble {
        Trouble {
            at: Timestamp::from_secs(number),
            severity: Severity::Warning,
            place: text.to_owned(),
            message: text.to_owned(),
            fields: (0..50).map(|_| (text.to_owned(), text.to_owned())).collect(),
        }
    }

    #[test]
    fn the_newest_hundred_are_kept() {
        let troubles = Troubles::default();
        for number in 0..250 {
            troubles.clone().note(trouble(number, "x"));
        }
        let times: Vec<_> = troubles.list().iter().map(|trouble| trouble.at.as_secs()).collect();
        assert_eq!(times, (150..250).rev().collect::<Vec<_>>());
    }

    #[test]
    fn long_lines_are_cut() {
        let troubles = Troubles::default();
        troubles.note(trouble(1, &"é".repeat(100_000)));
        let kept = troubles.list().remove(0);
        let shortened = format!("{}…", "é".repeat(LONGEST));
        assert_eq!((&kept.place, &kept.message, kept.fields.len()), (&shortened, &shortened, MOST_FIELDS));
        assert!(kept.fields.iter().all(|(name, value)| *name == shortened && *value == shortened));
    }
}
