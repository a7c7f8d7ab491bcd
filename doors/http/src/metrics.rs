//! Counts and times requests, by route: never by path, which a client can make up without end.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

/// The route of requests that match none.
pub(crate) const UNMATCHED: &str = "unmatched";

const REQUESTS: &str = "chancery_http_requests_total";
const SECONDS: &str = "chancery_http_request_seconds";
const IN_FLIGHT: &str = "chancery_http_requests_in_flight";

/// Says what this crate's metrics mean, to the recorder that is installed. Call once, after installing it.
pub fn describe_metrics() {
    describe_counter!(REQUESTS, "Requests answered, by method, route and status.");
    describe_histogram!(SECONDS, "Seconds from a request's head to its response's head, by method and route.");
    describe_gauge!(IN_FLIGHT, "Requests whose response has not begun.");
    describe_gauge!("chancery_http_connections", "Open connections.");
    describe_counter!("chancery_http_connections_refused_total", "Connections refused or cut, by reason.");
    describe_counter!("chancery_http_rate_limited_total", "Requests refused for their rate, by limit.");
    describe_counter!("chancery_http_overload_total", "Requests turned away for want of room, by reason.");
}

/// The method as a label: any but the usual are one, since a client can make up more.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Times one request, and counts it as in flight until it is dropped, however that happens.
pub(crate) struct Watch {
    began: Instant,
    in_flight: metrics::Gauge,
}

impl Watch {
    pub(crate) fn start() -> Self {
        let in_flight = gauge!(IN_FLIGHT);
        in_flight.increment(1);
        Self { began: Instant::now(), in_flight }
    }

    /// Records the request as answered; gives the time it took.
    pub(crate) fn stop(self, method: &'static str, route: &str, status: StatusCode) -> Duration {
        let took = self.began.elapsed();
        let route = route.to_owned();
        histogram!(SECONDS, "method" => method, "route" => route.clone()).record(took);
        counter!(REQUESTS, "method" => method, "route" => route, "status" => status.as_str().to_owned()).increment(1);
        took
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.in_flight.decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::{Router, body::Body, routing::get};
    use metrics_exporter_prometheus::PrometheusBuilder;
    use tower::ServiceExt;

    use crate::{Edge, finish};

    #[tokio::test]
    async fn requests_are_counted_by_route_and_never_by_path() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let _installed = metrics::set_default_local_recorder(&recorder);
        let router = Router::new().route("/order/{lookup}", get(|| async { "x" }));
        let router = finish(router, Edge::new(Arc::new(|| "r".into())));
        for (method, path) in [
            ("GET", "/order/ord_1"),
            ("GET", "/order/ord_2"),
            ("GET", "/made-up"),
            ("BREW", "/order/x"),
            ("POST", "/order/x"),
        ] {
            let request = http::Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap();
        }
        let text = handle.render();
        for line in [
            r#"chancery_http_requests_total{method="GET",route="/order/{lookup}",status="200"} 2"#,
            r#"chancery_http_requests_total{method="GET",route="unmatched",status="404"} 1"#,
            r#"chancery_http_requests_total{method="other",route="/order/{lookup}",status="405"} 1"#,
            r#"chancery_http_requests_total{method="POST",route="/order/{lookup}",status="405"} 1"#,
            r#"chancery_http_request_seconds_count{method="GET",route="/order/{lookup}"} 2"#,
            "chancery_http_requests_in_flight 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("ord_1") && !text.contains("made-up") && !text.contains("BREW"), "{text}");
    }
}
