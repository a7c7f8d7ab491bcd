//! Where in a request a thing is named that is not there.

use std::collections::HashSet;

use chancery_http::ApiError;
use chancery_service::ServiceError;
use chancery_wire::FieldProblem;

/// The refusal, with the place in the list `field` of each name that it is about.
pub(crate) fn not_found_at(error: ServiceError, field: &str, given: &[String]) -> ApiError {
    let ServiceError::NotFound(noun, names) = &error else { return error.into() };
    let (missing, message): (HashSet<_>, _) = (names.iter().collect(), ServiceError::not_found(*noun).to_string());
    let named = given.iter().enumerate().filter(|(_, name)| missing.contains(name));
    let problem = |(place, _)| FieldProblem::new(format!("{field}[{place}]"), "not_found", &message);
    let problems = named.map(problem).collect();
    ApiError::from(error).with_errors(problems)
}
