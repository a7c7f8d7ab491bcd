//! Rate limits, in the words of RFC 8555 section 6.6.

use std::sync::Arc;

use chancery_http::{Exchange, apply_rate};
use chancery_service::{Decision, Limit};
use http::{Extensions, HeaderMap, StatusCode};

use crate::mount::Door;
use crate::problem::{Problem, ProblemType};

/// Takes a token, or refuses.
pub(crate) async fn require(door: &Door, known: &Extensions, limit: Limit, whom: &str) -> Result<(), Problem> {
    let Some(decision) = door.services.limits.take(limit, whom).await else { return Ok(()) };
    if decision.allowed() {
        if let Some(exchange) = known.get::<Arc<Exchange>>() {
            exchange.note_rate(decision);
        }
        return Ok(());
    }
    Err(refused(&decision))
}

/// `rateLimited`; what stands around every answer adds the page that explains it.
pub(crate) fn refused(decision: &Decision) -> Problem {
    let seconds = decision.retry_seconds().unwrap_or(1);
    let (rate, what) = (&decision.rate, decision.limit.what());
    let detail =
        format!("too many {what}; {} in {} s are granted, try again in {seconds} s", rate.count, rate.per.as_secs());
    let mut headers = HeaderMap::new();
    apply_rate(decision, &mut headers);
    let mut problem = Problem::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, detail);
    for (name, value) in headers {
        problem = match name {
            Some(name) => problem.with_header(name, value),
            None => problem,
        };
    }
    problem
}
