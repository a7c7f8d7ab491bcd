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
use chancery_overload::ResponsePermit;
use http::Version;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::limits::Limits;

/// How much of an answer is handed over at a time. What was handed over counts as gone, though it may still wait here.
const PIECE: usize = 16 * 1024;

/// What one connection is doing. Shared by its socket, its service and whoever watches it.
pub(super) struct Activity(Mutex<State>);

struct State {
    /// Requests that a handler is working on.
    handling: usize,
    /// Responses that are on their way.
    responding: Vec<Responding>,
    /// How many responses have been on their way.
    responded: u64,
    /// When something last began or ended.
    moved: Instant,
    /// When the first byte came since nothing is in flight.
    head_began: Option<Instant>,
    /// The protocol, once a request has shown it.
    version: Option<Version>,
}

struct Responding {
    number: u64,
    /// Since when the client has been to take what there is; none while there is nothing yet.
    offered: Option<Instant>,
}

/// What is to become of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may go on, at least until then.
    KeepUntil(Instant),
    /// Some of its answers are held, and others go on: nothing more is to begin, and what goes on may end, at least until then.
    EndBy(Instant),
    /// It has been idle long enough: close it politely.
    Retire,
    /// It is being held: cut it, for this reason.
    Cut(&'static str),
}

impl Activity {
    pub(super) fn new() -> Self {
        let state = State {
            handling: 0,
            responding: Vec::new(),
            responded: 0,
            moved: Instant::now(),
            head_began: None,
            version: None,
        };
        Self(Mutex::new(state))
    }

    /// Judges the connection as it is now.
    pub(super) fn verdict(&self, now: Instant, limits: &Limits) -> Verdict {
        let state = self.0.lock();
        // Of several answers each has to move on: one that does cannot make up for others that are held. But those who wait for
        // the others, through one proxy perhaps, are not to lose theirs.
        let offered = state.responding.iter().filter_map(|each| each.offered).min();
        let stalls = |offered: Instant| now >= offered + limits.write_stall;
        let goes_on = |each: &Responding| each.offered.is_none_or(|offered| !stalls(offered));
        let others = state.handling > 0 || state.responding.iter().any(goes_on);
        if let Some(offered) = offered.filter(|offered| stalls(*offered))
            && others
            && now < offered + 2 * limits.write_stall
        {
            return Verdict::EndBy(now + limits.header_read / 2);
        }
        let (deadline, otherwise) = match *state {
            _ if let Some(offered) = offered => (offered + limits.write_stall, Verdict::Cut("response_stalled")),
            // A handler at work is not the client's fault, and reading a body has its own limit.
            State { handling: 1.., .. } => return Verdict::KeepUntil(now + limits.header_read),
            State { ref responding, .. } if !responding.is_empty() => {
                return Verdict::KeepUntil(now + limits.header_read);
            }
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
        if state.handling == 0 && state.responding.is_empty() && state.head_began.is_none() {
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
        Exchange { activity: self.clone(), version, responding: None }
    }
}

/// One request and its response; over when dropped.
pub(super) struct Exchange {
    activity: Arc<Activity>,
    version: Version,
    /// The number of the response, once it is on its way.
    responding: Option<u64>,
}

impl Exchange {
    /// The handler is done: from now on the client must take the response, whose place is its own until then.
    pub(super) fn respond(mut self, body: Body, permit: Option<Arc<ResponsePermit>>) -> Tracked {
        let mut state = self.activity.0.lock();
        let number = state.responded;
        state.handling -= 1;
        state.responded += 1;
        state.responding.push(Responding { number, offered: Some(Instant::now()) });
        drop(state);
        self.responding = Some(number);
        Tracked { body, rest: Bytes::new(), exchange: self, _permit: permit }
    }

    /// There is something for the client to take from now on, or nothing yet.
    fn offer(&self, something: bool) {
        let mut state = self.activity.0.lock();
        let mine = state.responding.iter_mut().find(|each| Some(each.number) == self.responding);
        if let Some(mine) = mine {
            mine.offered = something.then(Instant::now);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.activity.0.lock();
        match self.responding {
            Some(number) => state.responding.retain(|each| each.number != number),
            None => state.handling -= 1,
        }
        state.moved = Instant::now();
        state.head_began = None;
    }
}

/// A response's body that tells when it moves on and when it ends.
pub(super) struct Tracked {
    body: Body,
    /// What is left of a frame.
    rest: Bytes,
    exchange: Exchange,
    _permit: Option<Arc<ResponsePermit>>,
}

impl Tracked {
    /// The next piece of what is left.
    fn piece(&mut self) -> Frame<Bytes> {
        // Over HTTP/2 what was handed over waits for the client to make room. The last byte is kept back until there was
        // room for all before it, so that an answer that nobody takes is not forgotten.
        let kept_back = usize::from(self.exchange.version >= Version::HTTP_2 && self.rest.len() > 1);
        let length = PIECE.min(self.rest.len() - kept_back);
        // A copy: a piece that waits in the connection must not keep the whole response in memory after its permit is dropped.
        Frame::data(Bytes::copy_from_slice(&self.rest.split_to(length)))
    }
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let polled = Pin::new(&mut self.body).poll_frame(context);
            // Being asked for more means that what was given has gone; that there is nothing is nobody's fault but ours.
            self.exchange.offer(polled.is_ready());
            match polled {
                Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(|data| !data.is_empty()) => {
                    self.rest = frame.into_data().unwrap_or_default();
                }
                other => return other,
            }
        } else {
            self.exchange.offer(true);
        }
        Poll::Ready(Some(Ok(self.piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
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
        drop(activity.begin(Version::HTTP_11).respond(Body::empty(), None));
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
        let body = exchange.respond(Body::from("x"), None);
        assert!(matches!(after(&activity, 29), Verdict::KeepUntil(_)));
        assert_eq!(after(&activity, 30), Verdict::Cut("response_stalled"));
        drop(body);
        assert!(matches!(after(&activity, 31), Verdict::KeepUntil(_)));
    }

    #[tokio::test]
    async fn an_answer_that_moves_on_does_not_make_up_for_one_that_does_not() {
        let activity = Arc::new(Activity::new());
        let held = activity.begin(Version::HTTP_2).respond(Body::from("x"), None);
        let mut moving = activity.begin(Version::HTTP_2).respond(Body::from(vec![0; 10 * PIECE]), None);
        let working = activity.begin(Version::HTTP_2);
        let last = Instant::now() + LIMITS().write_stall;
        tokio::time::sleep(Duration::from_millis(2)).await;
        std::future::poll_fn(|context| Pin::new(&mut moving).poll_frame(context)).await.unwrap().unwrap();
        // The others are let end, but not for ever.
        assert!(matches!(activity.verdict(last, &LIMITS()), Verdict::EndBy(_)));
        let stall = LIMITS().write_stall;
        assert_eq!(activity.verdict(last + stall, &LIMITS()), Verdict::Cut("response_stalled"));
        drop((working, moving));
        assert_eq!(activity.verdict(last, &LIMITS()), Verdict::Cut("response_stalled"));
        drop(held);
        assert!(matches!(activity.verdict(last, &LIMITS()), Verdict::KeepUntil(_)));
    }

    #[tokio::test]
    async fn an_answer_that_is_still_to_be_made_is_nobodys_fault() {
        let activity = Arc::new(Activity::new());
        let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let mut answer = activity.begin(Version::HTTP_11).respond(never, None);
        std::future::poll_fn(|context| {
            assert!(Pin::new(&mut answer).poll_frame(context).is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(matches!(after(&activity, 1000), Verdict::KeepUntil(_)));
    }

    #[tokio::test]
    async fn a_piece_that_waits_does_not_keep_the_whole_response_in_memory() {
        struct Shared(Arc<Vec<u8>>);
        impl AsRef<[u8]> for Shared {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let whole = Arc::new(vec![b'x'; 10 * PIECE]);
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let body = Body::from(Bytes::from_owner(Shared(whole.clone())));
            let mut answer = Arc::new(Activity::new()).begin(version).respond(body, None);
            let mut waiting = Vec::new();
            while !answer.is_end_stream() {
                waiting.push(std::future::poll_fn(|context| Pin::new(&mut answer).poll_frame(context)).await);
            }
            drop(answer);
            assert_eq!(Arc::strong_count(&whole), 1, "{version:?}: {} pieces wait", waiting.len());
        }
    }

    #[tokio::test]
    async fn an_answer_is_handed_over_piece_by_piece_and_whole() {
        for (version, length, pieces) in [
            (Version::HTTP_11, 100, vec![100]),
            (Version::HTTP_11, PIECE + 1, vec![PIECE, 1]),
            (Version::HTTP_2, 100, vec![99, 1]),
            (Version::HTTP_2, PIECE + 1, vec![PIECE, 1]),
            (Version::HTTP_2, PIECE, vec![PIECE - 1, 1]),
            (Version::HTTP_2, 1, vec![1]),
            (Version::HTTP_2, 0, vec![]),
        ] {
            let body = Body::from((0..length).map(|number| number as u8).collect::<Vec<_>>());
            let mut answer = Arc::new(Activity::new()).begin(version).respond(body, None);
            assert_eq!(answer.size_hint().exact(), Some(length as u64));
            let (mut seen, mut whole) = (Vec::new(), Vec::new());
            while !answer.is_end_stream() {
                let frame = std::future::poll_fn(|context| Pin::new(&mut answer).poll_frame(context)).await;
                let data = frame.unwrap().unwrap().into_data().unwrap();
                seen.push(data.len());
                whole.extend(data);
                assert_eq!(answer.size_hint().exact(), Some((length - whole.len()) as u64));
            }
            assert_eq!((seen, whole.len()), (pieces, length), "{version:?} {length}");
            assert!(whole.iter().enumerate().all(|(place, byte)| place as u8 == *byte));
        }
    }
}
