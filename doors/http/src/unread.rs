//! Bodies that nobody read to their end.
//!
//! What is left of one stands on the connection before the next request. The connection lives on if it can be taken out of
//! the way in a moment; otherwise it is closed, and the client has to be told (RFC 9112 section 9.6): it could not know what
//! became of a request that it sent there.
//!
//! Over HTTP/2 only the stream ends with it. But there are clients, curl among them, that take an answer for a failure which
//! ends the stream before they have sent all.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, extract::Request};
use bytes::Bytes;
use http::{Version, header::EXPECT};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;

/// Most bytes that are thrown away for a connection: beyond it, a new one is cheaper.
const MOST: u64 = 64 * 1024;

/// How long the rest may take to come: most clients have sent it by then.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a handler leaves of a body.
pub(crate) struct Unread {
    left: Arc<Left>,
    /// It has a stream of its own, and is in nobody's way.
    alone: bool,
    /// The client sends nothing before it is told to, and looking at the body would tell it.
    waits: bool,
}

impl Unread {
    /// Watches the body of a request; none where there is nothing of it.
    pub(crate) fn of(request: &mut Request) -> Option<Self> {
        if request.body().is_end_stream() {
            return None;
        }
        let alone = request.version() >= Version::HTTP_2;
        let waits = request.headers().contains_key(EXPECT);
        let left = Arc::new(Left::default());
        let body = mem::take(request.body_mut());
        *request.body_mut() = Body::new(Lent { body, left: left.clone() });
        Some(Self { left, alone, waits })
    }

    /// Throws away what comes of the body in a moment. Whether the connection has to end with this request, since some of
    /// it is still to come, or somebody has it who may still read.
    pub(crate) async fn remains(self) -> bool {
        let Some(mut body) = self.left.take() else { return !self.alone };
        if !self.waits {
            // Too late or too much is what it is: the client may still understand the answer.
            let _in_time = tokio::time::timeout(PATIENCE, throw_away(&mut body)).await;
        }
        !self.alone && !body.is_end_stream()
    }
}

/// Reads a body to its end, unless there is too much of it.
async fn throw_away(body: &mut Body) {
    let mut thrown = 0;
    while !body.is_end_stream() && thrown + body.size_hint().lower() <= MOST {
        match body.frame().await {
            Some(Ok(frame)) => thrown += frame.data_ref().map_or(0, |data| data.len() as u64),
            // Not every body knows that it is at its end; one that ends before its length has broken off.
            None if body.size_hint().lower() == 0 => *body = Body::empty(),
            None | Some(Err(_)) => return,
        }
    }
}

/// Where a body is put by whoever is done with it.
#[derive(Default)]
struct Left(Mutex<Option<Body>>);

impl Left {
    fn take(&self) -> Option<Body> {
        self.0.lock().take()
    }
}

/// A body as the handler has it, which does with it as it likes. Dropped, it gives back the rest.
struct Lent {
    body: Body,
    left: Arc<Left>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            // Not every body knows that it is at its end, nor may each be asked again.
            self.body = Body::empty();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let rest = mem::take(&mut self.body);
        *self.left.0.lock() = Some(rest);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{StreamExt, stream};
    use tokio::task::yield_now;

    use super::*;

    fn request(body: impl Into<Body>) -> Request {
        Request::new(body.into())
    }

    fn streamed(stream: impl stream::Stream<Item = &'static str> + Send + 'static) -> Body {
        Body::from_stream(stream.map(Ok::<_, io::Error>))
    }

    fn never() -> Body {
        streamed(stream::pending())
    }

    /// Whether something remains of a body that a handler does not look at.
    async fn remains(mut request: Request) -> bool {
        let unread = Unread::of(&mut request).unwrap();
        drop(request);
        unread.remains().await
    }

    #[tokio::test]
    async fn what_has_come_is_thrown_away() {
        assert!(!remains(request("0123456789")).await);
        assert!(!remains(request(vec![0_u8; 64 * 1024])).await);
        assert!(!remains(request(streamed(stream::iter(["01", "23"])))).await);
        let one_by_one = stream::iter(["01", "23"]).then(|piece| async move {
            yield_now().await;
            piece
        });
        assert!(!remains(request(streamed(one_by_one))).await);
    }

    #[tokio::test]
    async fn over_http_2_the_rest_is_given_a_moment_and_is_in_nobodys_way() {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = read.clone();
        let soon = stream::iter(["01", "23"]).then(move |piece| {
            let counted = counted.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                counted.fetch_add(1, Ordering::Relaxed);
                piece
            }
        });
        for body in [streamed(soon.boxed()), never(), streamed(stream::repeat("01"))] {
            let mut request = request(body);
            *request.version_mut() = Version::HTTP_2;
            let unread = Unread::of(&mut request).unwrap();
            drop(request);
            assert!(!unread.remains().await);
        }
        assert_eq!(read.load(Ordering::Relaxed), 2, "all of what came soon");
    }

    #[tokio::test]
    async fn what_does_not_come_is_not_waited_for() {
        assert!(remains(request(never())).await);
        assert!(remains(request(streamed(stream::iter(["01"]).chain(stream::pending())))).await);
    }

    #[tokio::test]
    async fn not_everything_is_thrown_away() {
        assert!(remains(request(vec![0_u8; 64 * 1024 + 1])).await);
        assert!(remains(request(streamed(stream::repeat("01")))).await);
    }

    #[tokio::test]
    async fn a_body_that_broke_off_is_never_whole() {
        let broken = stream::iter([Ok("01"), Err(io::Error::other("reset"))]);
        assert!(remains(request(Body::from_stream(broken))).await);
    }

    #[tokio::test]
    async fn nothing_remains_of_what_was_read() {
        for body in [Body::from("0123456789"), streamed(stream::iter(["01", "23"]))] {
            let mut request = request(body);
            let unread = Unread::of(&mut request).unwrap();
            request.into_body().collect().await.unwrap();
            assert!(!unread.remains().await);
        }
    }

    #[tokio::test]
    async fn a_body_that_somebody_still_has_is_left_to_them() {
        let mut request = request("0123456789");
        let unread = Unread::of(&mut request).unwrap();
        assert!(unread.remains().await);
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), "0123456789");
    }

    #[tokio::test]
    async fn a_client_that_waits_is_not_told_to_send() {
        let untouched = stream::poll_fn(|_| -> Poll<Option<&'static str>> { panic!("the body was read") });
        let mut waiting = request(streamed(untouched));
        waiting.headers_mut().insert(EXPECT, "100-continue".parse().unwrap());
        assert!(remains(waiting).await);

        let mut told = request("0123456789");
        told.headers_mut().insert(EXPECT, "100-continue".parse().unwrap());
        let unread = Unread::of(&mut told).unwrap();
        told.into_body().collect().await.unwrap();
        assert!(!unread.remains().await);
    }

    #[test]
    fn nothing_is_watched_where_there_is_nothing_to_read() {
        assert!(Unread::of(&mut request(Body::empty())).is_none());
    }

    #[tokio::test]
    async fn a_handler_sees_the_body_as_it_is() {
        let mut request = request("0123456789");
        let _unread = Unread::of(&mut request).unwrap();
        let mut body = request.into_body();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(10), false));
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "0123456789");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    }
}
