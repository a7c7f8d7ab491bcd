//! Rate limits, in the words of RFC 8555 section 6.6.

use std::sync::Arc;

use chancery_http::{Exchange, apply_rate};
use chancery_service::{Decision, Limit};
use http::{Extensions, StatusCode};

use crate::mount::Door;
use crate::problem::{Problem, ProblemType};

/// Takes a token, or refuses. What came of it is told where there is such a limit.
pub(crate) async fn require(door: &Door, limit: Limit, whom: &str) -> Result<Option<Decision>, Problem> {
    match door.services.limits.take(limit, whom).await {
        Some(decision) if !decision.allowed() => Err(refused(&decision)),
        decision => Ok(decision),
    }
}

/// Takes a token, or refuses; the answer tells how much is left.
pub(crate) async fn require_and_note(door: &Door, known: &Extensions, limit: Limit, whom: &str) -> Result<(), Problem> {
    let decision = require(door, limit, whom).await?;
    if let (Some(decision), Some(exchange)) = (decision, known.get::<Arc<Exchange>>()) {
        exchange.note_rate(decision);
    }
    Ok(())
}

/// `rateLimited`; what stands around every answer adds the page that explains it.
pub(crate) fn refused(decision: &Decision) -> Problem {
    let seconds = decision.retry_seconds().unwrap_or(1);
    let (rate, what) = (&decision.rate, decision.limit.what());
    let detail =
        format!("too many {what}; {} in {} s are granted, try again in {seconds} s", rate.count, rate.per.as_secs());
    refused_saying(decision, detail)
}

/// `rateLimited`, with `detail` as its words.
pub(crate) fn refused_saying(decision: &Decision, detail: String) -> Problem {
    let mut problem = Problem::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, detail);
    apply_rate(decision, &mut problem.headers);
    problem
}
