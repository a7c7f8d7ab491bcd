//! What a connection is doing, and how long it may go on doing it.
//!
//! hyper's own timer for request heads also runs while a kept-alive connection is idle, none runs while it finds out
//! which protocol is spoken, none while an HTTP/2 head trickles in, and none while a client does not read its answer.
//! This one covers them all.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::Version;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::limits::Limits;

/// What one connection is doing. Shared by its socket, its service and whoever watches it.
pub(super) struct Activity(Mutex<State>);

struct State {
    /// Requests that a handler is working on.
    handling: usize,
    /// Responses that are on their way.
    responding: usize,
    /// When something last began, ended, or moved on.
    moved: Instant,
    /// When the first byte came since nothing is in flight.
    head_began: Option<Instant>,
    /// The protocol, once a request has shown it.
    version: Option<Version>,
}

/// What is to become of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may go on, at least until then.
    KeepUntil(Instant),
    /// It has been idle long enough: close it politely.
    Retire,
    /// It is being held: cut it, for this reason.
    Cut(&'static str),
}

impl Activity {
    pub(super) fn new() -> Self {
        let state = State { handling: 0, responding: 0, moved: Instant::now(), head_began: None, version: None };
        Self(Mutex::new(state))
    }

    /// Judges the connection as it is now.
    pub(super) fn verdict(&self, now: Instant, limits: &Limits) -> Verdict {
        let state = self.0.lock();
        let (deadline, otherwise) = match *state {
            // A handler at work is not the client's fault, and reading a body has its own limit.
            State { handling: 1.., .. } => return Verdict::KeepUntil(now + limits.header_read),
            State { responding: 1.., moved, .. } => (moved + limits.write_stall, Verdict::Cut("response_stalled")),
            State { version: None, moved, .. } => (moved + limits.header_read, Verdict::Cut("header_timeout")),
            State { version: Some(version), head_began: Some(began), .. } if version < Version::HTTP_2 => {
                (began + limits.header_read, Verdict::Cut("header_timeout"))
            }
            State { moved, .. } => (moved + limits.idle, Verdict::Retire),
        };
        // A head can begin while we wait, and then the deadline is nearer: look again in time.
        if now < deadline { Verdict::KeepUntil(deadline.min(now + limits.header_read / 2)) } else { otherwise }
    }

    /// Bytes came from the client.
    pub(super) fn bytes_came(&self) {
        let mut state = self.0.lock();
        if state.handling == 0 && state.responding == 0 && state.head_began.is_none() {
            state.head_began = Some(Instant::now());
        }
    }

    /// A request's head has come whole.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> Exchange {
        let mut state = self.0.lock();
        state.handling += 1;
        state.version = Some(version);
        state.head_began = None;
        state.moved = Instant::now();
        Exchange { activity: self.clone(), responding: false }
    }
}

/// One request and its response; over when dropped.
pub(super) struct Exchange {
    activity: Arc<Activity>,
    responding: bool,
}

impl Exchange {
    /// The handler is done: from now on the response must make progress.
    pub(super) fn respond(mut self, body: Body) -> Tracked {
        let mut state = self.activity.0.lock();
        state.handling -= 1;
        state.responding += 1;
        state.moved = Instant::now();
        drop(state);
        self.responding = true;
        Tracked { body, exchange: self }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.activity.0.lock();
        if self.responding {
            state.responding -= 1
        } else {
            state.handling -= 1
        }
        state.moved = Instant::now();
        state.head_began = None;
    }
}

/// A response's body that tells when it moves on and when it ends.
pub(super) struct Tracked {
    body: Body,
    exchange: Exchange,
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // Being asked for more means that what was given has gone.
        self.exchange.activity.0.lock().moved = Instant::now();
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: fn() -> Limits = Limits::default;

    fn after(activity: &Activity, seconds: u64) -> Verdict {
        activity.verdict(Instant::now() + Duration::from_secs(seconds), &LIMITS())
    }

    #[tokio::test]
    async fn a_connection_that_never_asks_is_cut_soon() {
        let activity = Activity::new();
        assert!(matches!(after(&activity, 9), Verdict::KeepUntil(_)));
        activity.bytes_came();
        assert_eq!(after(&activity, 10), Verdict::Cut("header_timeout"));
    }

    #[tokio::test]
    async fn a_kept_alive_connection_may_idle_but_not_trickle() {
        let activity = Arc::new(Activity::new());
        drop(activity.begin(Version::HTTP_11).respond(Body::empty()));
        assert!(matches!(after(&activity, 74), Verdict::KeepUntil(_)));
        assert_eq!(after(&activity, 75), Verdict::Retire);
        activity.bytes_came();
        assert_eq!(after(&activity, 10), Verdict::Cut("header_timeout"));
        drop(activity.begin(Version::HTTP_11));
        assert!(matches!(after(&activity, 74), Verdict::KeepUntil(_)));
    }

    #[tokio::test]
    async fn frames_of_an_idle_http2_connection_are_no_head() {
        let activity = Arc::new(Activity::new());
        drop(activity.begin(Version::HTTP_2));
        activity.bytes_came();
        assert!(matches!(after(&activity, 74), Verdict::KeepUntil(_)));
        assert_eq!(after(&activity, 75), Verdict::Retire);
    }

    #[tokio::test]
    async fn a_handler_may_take_its_time_but_a_response_must_move() {
        let activity = Arc::new(Activity::new());
        let exchange = activity.begin(Version::HTTP_11);
        assert!(matches!(after(&activity, 1000), Verdict::KeepUntil(_)));
        let body = exchange.respond(Body::from("x"));
        assert!(matches!(after(&activity, 29), Verdict::KeepUntil(_)));
        assert_eq!(after(&activity, 30), Verdict::Cut("response_stalled"));
        drop(body);
        assert!(matches!(after(&activity, 31), Verdict::KeepUntil(_)));
    }
}
