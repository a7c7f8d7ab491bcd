//! What was found, and how it is told.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::print;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Ok,
    /// It works, and will not for ever, or not as well as it could.
    Warning,
    /// It does not work, or loses data, or is open to others.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub what: String,
    pub advice: Option<String>,
}

#[derive(Default)]
pub struct Report(pub Vec<Finding>);

impl Report {
    pub fn well(&mut self, check: &'static str, what: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Ok, what: what.into(), advice: None });
    }

    pub fn warn(&mut self, check: &'static str, what: impl Into<String>, advice: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Warning, what: what.into(), advice: Some(advice.into()) });
    }

    pub fn problem(&mut self, check: &'static str, what: impl Into<String>, advice: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Problem, what: what.into(), advice: Some(advice.into()) });
    }

    /// Prints it all; a problem makes it a failure.
    pub fn tell(&self, json: bool) -> Result<(), Failure> {
        let count = |level| self.0.iter().filter(|finding| finding.level == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        if json {
            let findings: Vec<Value> = self.0.iter().map(Finding::json).collect();
            let all = json!({"ok": problems == 0, "problems": problems, "warnings": warnings, "findings": findings});
            print::out(&format!("{all:#}\n"))?;
        } else {
            let lines: String = self.0.iter().map(Finding::lines).collect();
            let end = match (problems, warnings) {
                (0, 0) => "Nothing is wrong.\n",
                _ => "",
            };
            print::out(&format!("{lines}{end}"))?;
        }
        match problems {
            0 => Ok(()),
            1 => Err(Failure::failed("1 problem was found").advise("do what is said beside it")),
            many => Err(Failure::failed(format!("{many} problems were found")).advise("do what is said beside them")),
        }
    }
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Ok => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Problem => AnsiColor::Red.on_default().bold(),
        }
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({"check": self.check, "level": self.level.word(), "what": self.what, "advice": self.advice})
    }

    fn lines(&self) -> String {
        let style = self.level.style();
        let mut lines = format!("{style}{:8}{style:#} {:14} {}\n", self.level.word(), self.check, self.what);
        if let Some(advice) = &self.advice {
            lines.push_str(&format!("{:24}→ {advice}\n", ""));
        }
        lines
    }
}
