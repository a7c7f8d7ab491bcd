//! Turns spans into what is sent: each with its own id and its parent's, in the trace that its root began, or that whoever
//! called has begun. A trace is sent whole or not at all: its root decides, or whoever called.

use std::fmt;
use std::time::Instant;

use chancery_domain::{Clock, Entropy};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::otlp::Finished;
use super::parent::Parent;
use super::send::Queue;
use crate::system::{SystemClock, SystemEntropy};

const ENTROPY: &dyn Entropy = &SystemEntropy;

/// Collects spans that have ended.
pub(super) struct Collect {
    queue: Queue,
    sample: f64,
    began: Instant,
    began_at: u64,
}

impl Collect {
    /// Of the traces that begin here, `sample` are sent: 1 is all.
    pub(super) fn new(queue: Queue, sample: f64) -> Self {
        let began_at = u64::try_from(SystemClock.now().as_millis()).unwrap_or(0) * 1_000_000;
        Self { queue, sample, began: Instant::now(), began_at }
    }

    /// By the id of the trace, which is drawn at random.
    fn samples(&self, trace_id: [u8; 16]) -> bool {
        let [.., a, b, c, d] = trace_id;
        f64::from(u32::from_be_bytes([a, b, c, d])) < self.sample * 4_294_967_296.0
    }

    /// Nanoseconds since 1970, by a clock that never steps back.
    fn now(&self) -> u64 {
        self.began_at + u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX - self.began_at)
    }
}

impl<S> Layer<S> for Collect
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent().and_then(|parent| parent.extensions().get::<Finished>().map(Finished::as_parent));
        let parent = parent.or_else(|| {
            let mut caller = Caller(None);
            attributes.record(&mut caller);
            caller.0
        });
        let (trace_id, parent, sampled) = match parent {
            Some(Parent { trace_id, span_id, sampled }) => (trace_id, Some(span_id), sampled),
            None => {
                let trace_id = ENTROPY.bytes::<16>();
                (trace_id, None, self.samples(trace_id))
            }
        };
        let mut finished = Finished {
            trace_id,
            span_id: ENTROPY.bytes::<8>(),
            parent,
            sampled,
            name: attributes.metadata().name(),
            begun: self.now(),
            ended: None,
            attributes: Vec::new(),
        };
        attributes.record(&mut finished);
        span.extensions_mut().insert(finished);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(finished) = span.extensions_mut().get_mut::<Finished>() {
            values.record(finished);
        }
    }

    /// A span ends when it is left for the last time: what it began may hold on to it for longer. One that nobody enters ends
    /// when it is let go.
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(finished) = span.extensions_mut().get_mut::<Finished>() {
            finished.ended = Some(self.now());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let finished = context.span(&id).and_then(|span| span.extensions_mut().remove::<Finished>());
        if let Some(finished) = finished.filter(|finished| finished.sampled) {
            let ended = finished.ended.unwrap_or_else(|| self.now());
            self.queue.push(Finished { ended: Some(ended), ..finished });
        }
    }
}

/// Where a request says which trace it belongs to; `Edge` puts it there for callers whose traces are continued.
const TRACEPARENT: &str = "traceparent";

/// Finds the parent that a span has in another service.
struct Caller(Option<Parent>);

impl Visit for Caller {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.0 = Parent::parse(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

impl Finished {
    fn as_parent(&self) -> Parent {
        Parent { trace_id: self.trace_id, span_id: self.span_id, sampled: self.sampled }
    }

    fn note(&mut self, field: &Field, value: Value) {
        if field.name() != TRACEPARENT && self.sampled {
            self.attributes.push((field.name(), value));
        }
    }
}

/// Values as OTLP has them: a whole number is a text.
impl Visit for Finished {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.note(field, json!({"intValue": value.to_string()}));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.note(field, json!({"intValue": value.to_string()}));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.note(field, json!({"boolValue": value}));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field, json!({"stringValue": value}));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.note(field, json!({"stringValue": format!("{value:?}")}));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::send::tests::kept;
    use super::*;

    /// What is sent of a request with this header, and of the work below it.
    fn sent(sample: f64, traceparent: Option<&str>, times: usize) -> Vec<Finished> {
        let (queue, spans) = kept();
        let subscriber = tracing_subscriber::registry().with(Collect::new(queue, sample));
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..times {
                let request = tracing::trace_span!("http.request", traceparent, status = 200);
                let _entered = request.enter();
                tracing::trace_span!("sign").in_scope(|| {});
            }
        });
        spans()
    }

    const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_trace_that_was_begun_elsewhere_goes_on() {
        let [sign, request] = &sent(0.0, Some(CALLER), 1)[..] else { panic!("kept there, it is kept here") };
        let caller = Parent::parse(CALLER).unwrap();
        assert_eq!((request.trace_id, request.parent), (caller.trace_id, Some(caller.span_id)));
        assert_eq!((sign.trace_id, sign.parent), (caller.trace_id, Some(request.span_id)));
        assert_eq!(request.attributes.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["status"]);
        assert!(sent(1.0, Some(&CALLER.replace("-01", "-00")), 1).is_empty(), "not kept there, it is not kept here");
    }

    #[test]
    fn what_is_no_trace_begins_one() {
        let [sign, request] = &sent(1.0, Some("nonsense"), 1)[..] else { panic!("two spans") };
        assert_eq!((request.parent, sign.trace_id), (None, request.trace_id));
    }

    #[test]
    fn a_span_that_nobody_enters_ends_when_it_is_let_go() {
        let (queue, spans) = kept();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(Collect::new(queue, 1.0)), || {
            let waiting = tracing::trace_span!("store.read");
            std::thread::sleep(std::time::Duration::from_millis(2));
            drop(waiting);
        });
        let [waited] = &spans()[..] else { panic!("one span") };
        assert!(waited.ended.unwrap() >= waited.begun + 2_000_000);
    }

    #[test]
    fn some_traces_are_sent_and_each_of_them_whole() {
        assert!(sent(0.0, None, 200).is_empty());
        assert_eq!(sent(1.0, None, 200).len(), 400);
        let some = sent(0.25, None, 2000);
        assert!((600..1400).contains(&some.len()), "{}", some.len());
        for pair in some.chunks(2) {
            assert_eq!((pair[0].trace_id, pair[0].parent), (pair[1].trace_id, Some(pair[1].span_id)));
        }
    }
}
