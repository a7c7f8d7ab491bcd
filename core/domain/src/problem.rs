//! Everything that is wrong with an input, collected, so that a caller mends it in one go.

use std::fmt;

/// One thing that is wrong: where, what kind, and a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub code: &'static str,
    pub message: String,
    /// The policy whose rule was broken, where one was.
    pub policy: Option<String>,
    /// The place of the name that it is about among those that were asked for, where it is about one.
    pub name: Option<usize>,
}

impl Problem {
    pub fn new(field: impl Into<String>, code: &'static str, message: impl fmt::Display) -> Self {
        Self { field: field.into(), code, message: message.to_string(), policy: None, name: None }
    }

    /// Something that is wrong with the name at this place.
    pub fn of_name(place: usize, code: &'static str, message: impl fmt::Display) -> Self {
        Self { name: Some(place), ..Self::new(format!("identifiers[{place}]"), code, message) }
    }
}

/// A list of problems that may be empty; `into_result` says whether it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn add(&mut self, field: impl Into<String>, code: &'static str, message: impl fmt::Display) {
        self.0.push(Problem::new(field, code, message));
    }

    /// Keeps the value, or notes why there is none.
    pub fn take<T, E: fmt::Display>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(field, "invalid", error);
                None
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

/// What all of them say, in one line.
pub fn messages(problems: &[Problem]) -> String {
    problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", problem.field, problem.message)?;
        }
        Ok(())
    }
}
