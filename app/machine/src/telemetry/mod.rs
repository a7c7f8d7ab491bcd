//! Traces for OpenTelemetry: the spans of requests and of the work behind them, sent as OTLP over HTTP in JSON.
//!
//! Written here rather than taken from the OpenTelemetry crates: with the least of their features those bring a dozen
//! more, protobuf among them, for what is a page of JSON over the HTTP client that is here already. None of it runs
//! unless a collector is named. Only then spans are made at all: they are of the level `trace` and of a target of their
//! own, which nobody else listens to.

mod collect;
mod otlp;
mod parent;
mod send;

use chancery_client::Client;
use chancery_http::Network;
use chancery_service::SPANS;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use collect::Collect;
pub(crate) use send::Sending;

use crate::logging::LogError;

/// Where traces go.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// The collector, without `/v1/traces`.
    pub endpoint: String,
    /// Which part of the traces that begin here is sent: 1 is all.
    pub sample: f64,
    /// Those who connect from here have their traces continued.
    pub continued: Vec<Network>,
}

impl Telemetry {
    /// Every trace, and nobody else's.
    pub fn to(endpoint: String) -> Self {
        Self { endpoint, sample: 1.0, continued: Vec::new() }
    }
}

/// Starts a thread that sends what the layer collects. What has not been sent is, as far as possible, when `Sending`
/// is dropped.
pub(crate) fn start<S>(
    telemetry: &Telemetry,
    version: &'static str,
) -> Result<(impl Layer<S> + use<S>, Sending), LogError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let client = collector(&telemetry.endpoint).map_err(LogError::Collector)?;
    let (sending, queue) = Sending::start(client, version).map_err(LogError::Threads)?;
    let only_ours = Targets::new().with_target(SPANS, tracing::Level::TRACE);
    Ok((Collect::new(queue, telemetry.sample).with_filter(only_ours), sending))
}

/// A client of the collector; also what tells whether its URL is one.
pub fn collector(endpoint: &str) -> Result<Client, String> {
    Client::builder(endpoint).timeout(send::PATIENCE).build().map_err(|error| error.to_string())
}
