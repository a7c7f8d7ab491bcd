//! A thread that sends spans, some at a time. A collector that is slow or away costs spans, and nothing else.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use chancery_client::Client;
use http::Method;

use super::otlp::{Finished, export};

/// How long the collector has to take some.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Spans that wait to be sent; more are counted and dropped.
const WAITING: usize = 8192;
/// Spans that are sent together, and how long the first of them waits for others.
const TOGETHER: usize = 512;
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of the program waits for the last ones.
const LAST: Duration = Duration::from_secs(2);

enum Message {
    Span(Box<Finished>),
    /// Send what there is, and say so.
    Flush(SyncSender<()>),
}

/// Where spans wait.
pub(crate) struct Queue(SyncSender<Message>);

impl Queue {
    /// Never waits.
    pub(crate) fn push(&self, span: Finished) {
        if self.0.try_send(Message::Span(Box::new(span))).is_err() {
            dropped(1);
        }
    }
}

/// The thread; sends the last ones when it is dropped.
pub(crate) struct Sending(SyncSender<Message>);

impl Sending {
    pub(crate) fn start(client: Client, version: &'static str) -> io::Result<(Self, Queue)> {
        let (sender, receiver) = sync_channel(WAITING);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let send = move |spans: &[Finished]| {
            let sent = runtime.block_on(client.request(Method::POST, "/v1/traces", Some(export(spans, version))));
            match sent {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => lost(spans, &answer.status.to_string()),
                Err(error) => lost(spans, &error.to_string()),
            }
        };
        let work = move || send_all(&receiver, send);
        thread::Builder::new().name("telemetry".to_owned()).spawn(work)?;
        Ok((Self(sender.clone()), Queue(sender)))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let (done, wait) = sync_channel(1);
        if self.0.try_send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(LAST);
        }
    }
}

fn send_all(queue: &Receiver<Message>, send: impl Fn(&[Finished])) {
    while let Ok(first) = queue.recv() {
        let (mut spans, mut asked) = (Vec::new(), None);
        let end = Instant::now() + PAUSE;
        let mut next = Ok(first);
        loop {
            match next {
                Ok(Message::Span(span)) => spans.push(*span),
                Ok(Message::Flush(done)) => asked = Some(done),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            if asked.is_some() || spans.len() >= TOGETHER {
                break;
            }
            next = queue.recv_timeout(end.saturating_duration_since(Instant::now()));
        }
        if !spans.is_empty() {
            send(&spans);
        }
        if let Some(done) = asked {
            // Whoever asked may not wait any more.
            let _ = done.try_send(());
        }
    }
}

fn lost(spans: &[Finished], why: &str) {
    tracing::debug!(spans = spans.len(), why, "the collector did not take traces");
    dropped(spans.len());
}

fn dropped(spans: usize) {
    metrics::counter!("chancery_trace_spans_dropped_total").increment(spans as u64);
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A queue from which nothing is sent, and what is in it.
    pub(in crate::telemetry) fn kept() -> (Queue, impl FnOnce() -> Vec<Finished>) {
        let (sender, receiver) = sync_channel(WAITING);
        let span = |message| match message {
            Message::Span(span) => Some(*span),
            Message::Flush(_) => None,
        };
        (Queue(sender), move || receiver.try_iter().filter_map(span).collect())
    }

    fn span() -> Finished {
        let (trace_id, span_id) = ([1; 16], [2; 8]);
        Finished {
            trace_id,
            span_id,
            parent: None,
            sampled: true,
            name: "x",
            begun: 1,
            ended: Some(2),
            attributes: Vec::new(),
        }
    }

    #[test]
    fn spans_go_some_at_a_time_and_the_last_when_asked() {
        let (sender, receiver) = sync_channel(WAITING);
        let queue = Queue(sender.clone());
        for _ in 0..TOGETHER + 3 {
            queue.push(span());
        }
        let (done, wait) = sync_channel(1);
        sender.send(Message::Flush(done)).unwrap();
        drop((sender, queue));
        let sent = Mutex::new(Vec::new());
        send_all(&receiver, |spans| sent.lock().unwrap().push(spans.len()));
        assert_eq!(*sent.lock().unwrap(), [TOGETHER, 3]);
        wait.try_recv().unwrap();
    }

    #[test]
    fn a_full_queue_drops_and_does_not_wait() {
        let (sender, receiver) = sync_channel(1);
        let queue = Queue(sender);
        queue.push(span());
        queue.push(span());
        drop(queue);
        assert_eq!(receiver.iter().count(), 1);
    }
}
