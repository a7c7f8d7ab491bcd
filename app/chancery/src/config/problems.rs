//! Everything that is wrong with a configuration, collected, so that it is mended in one go.

use std::fmt;

/// One thing that is wrong: the setting, and a sentence that says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub setting: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn add(&mut self, setting: impl fmt::Display, message: impl fmt::Display) {
        self.0.push(Problem { setting: setting.to_string(), message: message.to_string() });
    }

    /// Keeps the value, or notes why there is none.
    pub fn take<T, E: fmt::Display>(&mut self, setting: impl fmt::Display, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(setting, error);
                None
            }
        }
    }

    /// Notes a problem unless the condition holds.
    pub fn require(&mut self, holds: bool, setting: impl fmt::Display, message: impl fmt::Display) {
        if !holds {
            self.add(setting, message);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", problem.setting, problem.message)?;
        }
        Ok(())
    }
}
