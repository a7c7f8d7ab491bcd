//! How a command fails: one line that says what is wrong and what to do, and an exit code.

use std::fmt;
use std::process::ExitCode;

use chancery_machine::LogError;
use chancery_service::{Noun, ServiceError};
use chancery_store::StoreError;
use serde_json::{Value, json};

/// What a command tells a person when it could not be done.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    what: String,
    advice: Option<String>,
    /// What a service said to it, for scripts.
    answer: Option<Box<Value>>,
}

/// What kind of failure it is: each has its exit code. The operator's commands know the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was tried and did not work.
    Failed,
    /// It cannot work as it was asked for or configured.
    Usage,
    /// It goes on later: something has to be done first.
    Waiting,
    /// The credentials are not accepted, or do not suffice.
    Denied,
    /// What was named is not there, or no longer.
    Missing,
    /// No service answers.
    Unreachable,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Kind {
    pub const fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Denied => 4,
            Self::Missing => 5,
            Self::Unreachable => 6,
            Self::Interrupted => 130,
        }
    }
}

impl Failure {
    /// Something that went wrong although it was asked for rightly.
    pub fn failed(what: impl fmt::Display) -> Self {
        Self::of(Kind::Failed, what)
    }

    /// A command, a configuration or a place that cannot work.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self::of(Kind::Usage, what)
    }

    pub fn of(kind: Kind, what: impl fmt::Display) -> Self {
        Self { kind, what: what.to_string(), advice: None, answer: None }
    }

    /// Adds what the person can do about it.
    #[must_use]
    pub fn advise(self, advice: impl fmt::Display) -> Self {
        Self { advice: Some(advice.to_string()), ..self }
    }

    /// Adds what a service said to it.
    #[must_use]
    pub fn answered(self, answer: Value) -> Self {
        Self { answer: Some(Box::new(answer)), ..self }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }

    /// The failure for scripts; members that are not there are left out.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"exitCode": self.kind.code(), "message": one_line(&self.what)});
        if let Some(advice) = &self.advice {
            error["advice"] = one_line(advice).into();
        }
        if let Some(answer) = &self.answer {
            error["answer"] = Value::clone(answer);
        }
        json!({"error": error})
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
            ServiceError::NotFound(noun, _) => {
                Self { advice: where_to_look(noun).map(str::to_owned), ..Self::failed(error) }
            }
            other => Self::failed(other),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Collector(wrong) => Self::usage(wrong),
            LogError::Threads(error) => Self::failed(format!("cannot start threads: {error}")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NewerSchema { .. }
            | StoreError::OlderSchema { .. }
            | StoreError::Url(_)
            | StoreError::Exposed(_) => Self::usage(error),
            StoreError::Unavailable(_) => Self::failed(error).advise("check that the database can be reached"),
            StoreError::Stale { .. }
            | StoreError::QueueFull
            | StoreError::Unknown(_)
            | StoreError::Damaged(_)
            | StoreError::Corrupt(_)
            | StoreError::Database(_) => Self::failed(error),
        }
    }
}

/// The command that tells the operator what there is instead.
const fn where_to_look(noun: Noun) -> Option<&'static str> {
    match noun {
        Noun::Reseller => Some("see `chancery reseller list`"),
        Noun::Client => Some("see `chancery client list`"),
        Noun::ApiKey => Some("see `chancery api-key list --reseller CODE`"),
        Noun::OperatorKey => Some("see `chancery operator-key list`"),
        Noun::Pause => Some("see `chancery pause list --reseller CODE`"),
        Noun::Issuer => Some("see `chancery ca list`"),
        Noun::Certificate => {
            Some("`chancery audit --action certificate.issue --json` has serial numbers and orders of what was issued")
        }
        // The operator's commands do not name these.
        Noun::Account
        | Noun::Credential
        | Noun::Group
        | Noun::Policy
        | Noun::AssignedPolicy
        | Noun::Member
        | Noun::Order
        | Noun::Authorization
        | Noun::Challenge
        | Noun::Event
        | Noun::Webhook
        | Noun::Delivery => None,
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

    #[test]
    fn what_is_not_there_is_told_with_where_to_look() {
        let said = |noun, which: &str| Failure::from(ServiceError::NotFound(noun, vec![which.to_owned()])).to_string();
        assert_eq!(said(Noun::Reseller, "NOPE"), "there is no reseller NOPE; see `chancery reseller list`");
        assert!(said(Noun::Certificate, "1234").starts_with("there is no certificate 1234; `chancery audit --action"));
    }

    #[test]
    fn scripts_are_told_the_same() {
        let failure = Failure::of(Kind::Missing, "there is no such\norder").answered(json!({"status": 404}));
        let told = json!({"exitCode": 5, "message": "there is no such order", "answer": {"status": 404}});
        assert_eq!(failure.to_json(), json!({"error": told}));
        assert_eq!(Failure::usage("x").advise("y").to_json()["error"]["advice"], "y");
    }
}
