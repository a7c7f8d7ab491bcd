//! What a database refused while a unit of work ran, and what that says about running it again.

use crate::error::StoreError;
use crate::pipeline::Refusal;
use crate::protocol;

#[derive(Default)]
pub(crate) struct Marks {
    /// Somebody else's change may be the cause, so that running the unit again may help: serialization failures and
    /// deadlocks (SQLSTATE class 40), and keys that were free (23505) or rows that were unused (23503) when it looked.
    pub(crate) conflicted: bool,
    /// The connection was lost on the way.
    pub(crate) cut: bool,
    /// Somebody else did not let go of a row in time (55P03).
    waited: bool,
    /// What was refused first. A unit that went on regardless is not kept: PostgreSQL has dropped the whole transaction by
    /// then, and would answer its commit as if all were well.
    pub(crate) failed: Option<StoreError>,
}

impl Marks {
    pub(crate) fn note(&mut self, refusal: Refusal) -> StoreError {
        match refusal {
            Refusal::Stale(stale) => {
                self.conflicted = true;
                stale
            }
            Refusal::Unsent(error) => error,
            Refusal::Database(error) => {
                self.cut |= is_cut(&error);
                if let Some(code) = error.code() {
                    self.conflicted |= matches!(code, "23503" | "23505") || is_conflict(code);
                    self.waited |= code == "55P03";
                }
                error.into()
            }
        }
    }

    /// Remembers the first error.
    pub(crate) fn keep<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(error), None) = (&result, &self.failed) {
            self.failed = Some(error.clone());
        }
        result
    }

    /// Whether the server cannot write. A connection that was lost tells nothing of that, nor does a conflict, which is run
    /// again, nor a row that another node did not let go of.
    pub(crate) fn tell_of_a_server_that_cannot_write(&self) -> bool {
        !self.cut && !self.conflicted && !self.waited && matches!(self.failed, Some(StoreError::Unavailable(_)))
    }
}

/// Whether the connection is of no more use: closed, or told so by a server that shuts down, has crashed or is a standby
/// by now (25006).
fn is_cut(error: &protocol::Error) -> bool {
    let told = ["57P01", "57P02", "57P03", "57P05", "25006", "25P03"];
    error.is_of_the_line() || error.code().is_some_and(|code| told.contains(&code))
}

/// Serialization failures and deadlocks: nothing was kept, so it can be run again.
pub(crate) fn is_conflict(code: &str) -> bool {
    code.starts_with("40") && !is_unknown(code)
}

/// Whether the server itself does not know what became of it (`statement_completion_unknown`). PostgreSQL never says so;
/// others that speak its protocol do, of a commit.
pub(crate) fn is_unknown(code: &str) -> bool {
    code == "40003"
}
