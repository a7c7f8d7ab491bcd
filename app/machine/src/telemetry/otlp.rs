//! OTLP in JSON: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

/// A span that has ended, or is going to.
pub(crate) struct Finished {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    /// Whether it is sent.
    pub sampled: bool,
    pub name: &'static str,
    /// Nanoseconds since 1970.
    pub begun: u64,
    pub ended: Option<u64>,
    pub attributes: Vec<(&'static str, Value)>,
}

/// The body of an export.
pub(super) fn export(spans: &[Finished], version: &str) -> Value {
    let spans: Vec<_> = spans.iter().map(shown).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            attribute("service.name", &json!({"stringValue": "chancery"})),
            attribute("service.version", &json!({"stringValue": version})),
        ]},
        "scopeSpans": [{"scope": {"name": "chancery"}, "spans": spans}],
    }]})
}

fn shown(span: &Finished) -> Value {
    let attributes: Vec<_> = span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let failed = span.attributes.iter().any(|(name, value)| *name == "status" && is_our_fault(value));
    json!({
        "traceId": HEXLOWER.encode(&span.trace_id),
        "spanId": HEXLOWER.encode(&span.span_id),
        "parentSpanId": span.parent.map_or_else(String::new, |parent| HEXLOWER.encode(&parent)),
        "name": span.name,
        "kind": kind(span.name),
        "startTimeUnixNano": span.begun.to_string(),
        "endTimeUnixNano": span.ended.unwrap_or(span.begun).to_string(),
        "attributes": attributes,
        "status": if failed { json!({"code": 2}) } else { json!({}) },
    })
}

/// Of a server, of a client, or neither.
fn kind(name: &str) -> u8 {
    match name {
        "http.request" => 2,
        "validation.look" | "validation.caa" => 3,
        _ => 1,
    }
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": value})
}

fn is_our_fault(status: &Value) -> bool {
    status["intValue"].as_str().is_some_and(|status| status.starts_with('5'))
}
