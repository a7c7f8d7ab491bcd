//! Turns spans into what is sent: each with its own id and its parent's, in the trace that its root began.

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
use super::send::Queue;
use crate::system::{SystemClock, SystemEntropy};

const ENTROPY: &dyn Entropy = &SystemEntropy;

/// Collects spans that have ended.
pub struct Collect {
    queue: Queue,
    began: Instant,
    began_at: u64,
}

impl Collect {
    pub fn new(queue: Queue) -> Self {
        let began_at = u64::try_from(SystemClock.now().as_millis()).unwrap_or(0) * 1_000_000;
        Self { queue, began: Instant::now(), began_at }
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
        let parent = span
            .parent()
            .and_then(|parent| parent.extensions().get::<Finished>().map(|parent| (parent.trace_id, parent.span_id)));
        let (trace_id, parent) = match parent {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (ENTROPY.bytes::<16>(), None),
        };
        let begun = self.now();
        let mut finished = Finished {
            trace_id,
            span_id: ENTROPY.bytes::<8>(),
            parent,
            name: attributes.metadata().name(),
            begun,
            ended: begun,
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

    /// A span ends when it is left for the last time: what it began may hold on to it for longer.
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(finished) = span.extensions_mut().get_mut::<Finished>() {
            finished.ended = self.now();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let finished = context.span(&id).and_then(|span| span.extensions_mut().remove::<Finished>());
        finished.into_iter().for_each(|finished| self.queue.push(finished));
    }
}

impl Finished {
    fn note(&mut self, field: &Field, value: Value) {
        self.attributes.push((field.name(), value));
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
