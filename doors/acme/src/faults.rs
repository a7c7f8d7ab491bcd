//! Faults on purpose, for authors of clients: what a client must live with, and what well-behaved servers seldom show.
//! They stand before the routes, so that nothing behind them knows.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use chancery_domain::Timestamp;
use chancery_http::{BodyLimits, read_bounded};
use chancery_jose::{Jws, base64url};
use http::header::RETRY_AFTER;
use http::{Method, StatusCode};
use time::OffsetDateTime;

use crate::mount::Door;
use crate::problem::{Problem, ProblemType};

/// How soon one may come back after a refusal.
const COME_BACK: Duration = Duration::from_secs(1);

/// Which faults there are; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of a hundred good nonces, as many are rejected: each always, however often it is tried.
    pub reject_nonces: u8,
    /// Of a hundred requests, as many are refused with 429 or 503.
    pub refuse: u8,
}

pub(crate) fn before(routes: Router, door: Door) -> Router {
    match door.mount.faults == Faults::default() {
        true => routes,
        false => routes.layer(middleware::from_fn_with_state(door, disturb)),
    }
}

async fn disturb(State(door): State<Door>, request: Request, next: Next) -> Response {
    let Faults { reject_nonces, refuse } = door.mount.faults;
    let drawn = draw(&door.services.acme.new_nonce());
    if falls_below(drawn, refuse) {
        return refusal(drawn, door.services.now()).into_response();
    }
    if reject_nonces == 0 || request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let limits = parts.extensions.get::<BodyLimits>().copied().unwrap_or_default();
    let body = match read_bounded(body, limits).await {
        Ok(body) => body,
        Err(error) => return Problem::from(error).into_response(),
    };
    match nonce(&body, limits.max_bytes) {
        Some(nonce) if falls_below(draw(&nonce), reject_nonces) => {
            let detail = "the nonce is rejected on purpose (--reject-nonces); use the one in the header Replay-Nonce \
                          of this answer";
            Problem::new(ProblemType::BadNonce, StatusCode::BAD_REQUEST, detail).into_response()
        }
        // What cannot be read is told by those who read it.
        Some(_) | None => next.run(Request::from_parts(parts, Body::from(body))).await,
    }
}

/// 429 with seconds, or 503 with a date: `Retry-After` has both forms (RFC 9110 section 10.2.3).
fn refusal(drawn: u32, now: Timestamp) -> Problem {
    match (drawn >> 16).is_multiple_of(2) {
        true => {
            let detail = "refused on purpose (--refuse): as if there were too many requests";
            Problem::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, detail)
                .retry_after(COME_BACK.as_secs())
        }
        false => {
            let detail = "refused on purpose (--refuse): as if the service were overloaded";
            // A date has no fractions: the next full second that is far enough.
            let then = http_date(now.plus(COME_BACK + Duration::from_millis(999)));
            Problem::new(ProblemType::ServerInternal, StatusCode::SERVICE_UNAVAILABLE, detail)
                .with_text(RETRY_AFTER, &then)
        }
    }
}

fn nonce(body: &[u8], limit: usize) -> Option<String> {
    let jws = Jws::flattened(body, limit).ok()?;
    Some(jws.header().members.get("nonce")?.as_str()?.to_owned())
}

/// The end of a nonce is as good as random, and the same each time.
fn draw(nonce: &str) -> u32 {
    let bytes = base64url::decode(nonce).unwrap_or_default();
    bytes.last_chunk::<4>().map_or(0, |end| u32::from_be_bytes(*end))
}

fn falls_below(drawn: u32, percent: u8) -> bool {
    drawn % 100 < u32::from(percent)
}

/// IMF-fixdate (RFC 9110 section 5.6.7).
fn http_date(at: Timestamp) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at.as_secs()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (weekday, month) = (at.weekday().to_string(), at.month().to_string());
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        &weekday[..3],
        at.day(),
        &month[..3],
        at.year(),
        at.hour(),
        at.minute(),
        at.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_of_a_hundred_fall_below_as_are_asked_for() {
        for percent in [0, 1, 50, 99, 100] {
            let fallen = (0..1000).filter(|drawn| falls_below(*drawn, percent)).count();
            assert_eq!(fallen, usize::from(percent) * 10);
        }
    }

    #[test]
    fn a_nonce_is_drawn_the_same_each_time() {
        assert_eq!(draw(&base64url::encode(&[9, 9, 0, 0, 1, 2])), 258);
        assert_eq!((draw(""), draw("!"), draw("AA")), (0, 0, 0));
    }

    #[test]
    fn both_refusals_say_when_to_come_back_each_in_its_form() {
        let now = Timestamp::from_millis(784_111_776_500);
        let headers = |drawn| {
            let response = refusal(drawn, now).into_response();
            (response.status().as_u16(), response.headers()[RETRY_AFTER].to_str().unwrap().to_owned())
        };
        assert_eq!(headers(0), (429, "1".to_owned()));
        assert_eq!(headers(1 << 16), (503, "Sun, 06 Nov 1994 08:49:38 GMT".to_owned()));
    }
}
