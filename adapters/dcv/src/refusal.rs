//! Why one look did not show control, and whether it is worth looking again.

use chancery_domain::{ProblemKind, ValidationProblem};

/// One look that did not show control.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub problem: ValidationProblem,
    /// Nothing was there, or nobody answered: it may be there in a moment. A wrong answer stays wrong.
    pub look_again: bool,
}

impl Refusal {
    pub(crate) fn missing(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { problem: ValidationProblem { kind, detail: detail.into() }, look_again: true }
    }

    pub(crate) fn wrong(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { problem: ValidationProblem { kind, detail: detail.into() }, look_again: false }
    }
}
