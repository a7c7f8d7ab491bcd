//! Rate limits, as RFC 8555 section 6.6 has them refused.

use std::sync::Arc;

use chancery_http::{Exchange, apply_rate};
use chancery_overload::Decision;
use http::{Extensions, StatusCode};

use crate::problem::{Problem, ProblemType};

/// Puts a decision into the headers of the response.
pub(crate) fn note(known: &Extensions, decision: Option<Decision>) {
    if let (Some(decision), Some(exchange)) = (decision, known.get::<Arc<Exchange>>()) {
        exchange.note_rate(decision);
    }
}

/// `rateLimited`; the middleware adds the link to the help page.
pub(crate) fn refused(decision: &Decision) -> Problem {
    let seconds = decision.retry_seconds().unwrap_or(1);
    let (rate, label) = (&decision.rate, decision.limit.label());
    let detail =
        format!("too many {label}; {} in {} s are granted, try again in {seconds} s", rate.count, rate.per.as_secs());
    refused_saying(decision, detail)
}

/// `rateLimited` with this detail.
pub(crate) fn refused_saying(decision: &Decision, detail: String) -> Problem {
    let mut problem = Problem::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, detail);
    apply_rate(decision, &mut problem.headers);
    problem
}
