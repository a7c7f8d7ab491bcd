//! How a command fails: one line that says what is wrong and what to do, and an exit code.

use std::fmt;
use std::process::ExitCode;

use chancery_service::ServiceError;
use chancery_store::StoreError;

/// What a command tells a person when it could not be done.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    what: String,
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It was tried and did not work: exit code 1.
    Failed,
    /// It cannot work as it was asked for or configured: exit code 2.
    Usage,
}

impl Failure {
    /// Something that went wrong although it was asked for rightly.
    pub fn failed(what: impl fmt::Display) -> Self {
        Self { kind: Kind::Failed, what: what.to_string(), advice: None }
    }

    /// A command, a configuration or a place that cannot work.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self { kind: Kind::Usage, what: what.to_string(), advice: None }
    }

    /// Adds what the person can do about it.
    #[must_use]
    pub fn advise(self, advice: impl fmt::Display) -> Self {
        Self { advice: Some(advice.to_string()), ..self }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Failed => ExitCode::from(1),
            Kind::Usage => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors of others may have line breaks; a failure is one line.
        f.write_str(&one_line(&self.what))?;
        match &self.advice {
            Some(advice) => write!(f, "; {}", one_line(advice)),
            None => Ok(()),
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Store(error) => error.into(),
            // The field is "client" and adds nothing at the command line.
            ServiceError::Invalid(problems) => {
                let messages: Vec<_> = problems.0.into_iter().map(|problem| problem.message).collect();
                Self::failed(messages.join("; "))
            }
            other => Self::failed(other),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NewerSchema { .. } | StoreError::OlderSchema { .. } | StoreError::Url(_) => Self::usage(error),
            StoreError::Unavailable(_) => Self::failed(error).advise("check that the database can be reached"),
            StoreError::Stale { .. }
            | StoreError::Unknown(_)
            | StoreError::Damaged(_)
            | StoreError::Corrupt(_)
            | StoreError::Database(_) => Self::failed(error),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_with_what_to_do() {
        let failure = Failure::usage("port 1 is\n taken").advise("choose another");
        assert_eq!(failure.to_string(), "port 1 is taken; choose another");
    }
}
