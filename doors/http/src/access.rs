//! The access log: one line a request.

use std::time::Duration;

use chancery_overload::Limit;
use http::StatusCode;
use tracing::info;

use crate::{request_id::RequestId, server::PeerAddr};

/// Writes the line. It names the route, not the path: paths carry e-mail addresses, and queries may carry secrets.
pub(crate) fn log(
    method: &str,
    route: &str,
    status: StatusCode,
    limit: Option<Limit>,
    took: Duration,
    request_id: &RequestId,
    peer: Option<PeerAddr>,
) {
    let milliseconds = (took.as_secs_f64() * 1e5).round() / 1e2;
    let (status, peer) = (status.as_u16(), peer.map(|PeerAddr(address)| tracing::field::display(address)));
    let limit = limit.map(Limit::as_str);
    info!(method, route, status, limit, milliseconds, request_id = %request_id, peer, "request");
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use axum::{Router, body::Body, routing::get};
    use tower::ServiceExt;
    use tracing_subscriber::fmt::MakeWriter;

    use crate::{Edge, PeerAddr, finish};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[tokio::test]
    async fn one_line_a_request_without_path_query_or_secret() {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt().json().with_writer(lines.clone()).finish();
        let _installed = tracing::subscriber::set_default(subscriber);
        let router = Router::new().route("/account/{lookup}", get(|| async { "x" }));
        let router = finish(router, Edge::new(Arc::new(|| "r9".into())));
        let request = http::Request::builder()
            .uri("/account/a%40example.com?cursor=hush")
            .header("authorization", "Bearer hush")
            .extension(PeerAddr("192.0.2.7:1234".parse().unwrap()))
            .body(Body::empty())
            .unwrap();
        router.oneshot(request).await.unwrap();

        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains("hush") && !text.contains("example.com"), "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "INFO");
        let fields = &line["fields"];
        assert_eq!((&fields["method"], &fields["route"]), (&"GET".into(), &"/account/{lookup}".into()));
        assert_eq!((&fields["status"], &fields["request_id"]), (&200.into(), &"r9".into()));
        assert_eq!(fields["peer"], "192.0.2.7:1234");
        assert!(fields["milliseconds"].is_number());
        assert_eq!(line["span"]["request_id"], "r9");
    }
}
