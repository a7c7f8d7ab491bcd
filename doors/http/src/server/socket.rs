//! A connection's bytes: tells when some came, and closes so that the last answer is not lost.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::activity::Activity;

/// Most bytes that are discarded at the end.
const MAX_DISCARDED: usize = 8 * 1024 * 1024;

pub(super) struct Socket<S> {
    stream: S,
    activity: Arc<Activity>,
    linger: Duration,
    lingering: Option<Lingering>,
}

struct Lingering {
    over: Pin<Box<Sleep>>,
    discarded: usize,
}

impl<S> Socket<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>, linger: Duration) -> Self {
        Self { stream, activity, linger, lingering: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.bytes_came();
        }
        result
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes our side, then reads and discards what the client still sends, for a while. Closing a socket with unread
    /// bytes resets it, and a reset can overtake the answer: a client that is still sending a body we refused
    /// would see a broken connection instead of the reason (RFC 9112, section 9.6).
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        let linger = this.linger;
        let lingering = this.lingering.get_or_insert_with(|| Lingering { over: Box::pin(sleep(linger)), discarded: 0 });
        let mut scratch = [0; 8 * 1024];
        while lingering.over.as_mut().poll(context).is_pending() && lingering.discarded < MAX_DISCARDED {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => lingering.discarded += buffer.filled().len(),
                // The client has closed as well, or is gone.
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
