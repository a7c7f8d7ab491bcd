//! The JSON shapes of the reseller API, and nothing else: no rule lives here.

mod error;

pub use error::{ErrorCode, ErrorResponse, FieldProblem, SuccessResponse};
