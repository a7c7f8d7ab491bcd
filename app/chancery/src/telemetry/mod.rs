//! Traces for OpenTelemetry: the spans of requests and of the work behind them, sent as OTLP over HTTP in JSON.
//!
//! Written here rather than taken from the OpenTelemetry crates: with the least of their features those bring a dozen
//! more, protobuf among them, for what is a page of JSON over the HTTP client that is here already. None of it runs
//! unless a collector is named. Only then spans are made at all: they are of the level `trace` and of a target of their
//! own, which nobody else listens to.

mod collect;
mod otlp;
mod send;

use chancery_client::Client;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use collect::Collect;
pub use send::Sending;

use crate::failure::Failure;

/// The target of every span that is sent.
pub const SPANS: &str = "chancery::span";

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// The collector, without `/v1/traces`.
    pub endpoint: String,
}

/// Starts a thread that sends what the layer collects. What has not been sent is, as far as possible, when `Sending`
/// is dropped.
pub fn start<S>(telemetry: &Telemetry) -> Result<(impl Layer<S> + use<S>, Sending), Failure>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let client = client(&telemetry.endpoint).map_err(Failure::usage)?;
    let (sending, queue) = Sending::start(client)?;
    let only_ours = Targets::new().with_target(SPANS, tracing::Level::TRACE);
    Ok((Collect::new(queue).with_filter(only_ours), sending))
}

/// A client of the collector; also what tells whether its URL is one.
pub fn client(endpoint: &str) -> Result<Client, String> {
    Client::builder(endpoint).timeout(send::PATIENCE).build().map_err(|error| error.to_string())
}
