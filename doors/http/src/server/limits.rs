//! What clients may cost a server.

use std::time::Duration;

/// What one server grants its clients. Each limit closes one way to hold a server with little effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once; one more is closed as soon as it is accepted.
    pub connections: usize,
    /// Most connections at once from one IPv4 address or one IPv6 /64 network; trusted proxies have any number.
    pub connections_per_peer: Option<usize>,
    /// Longest TLS handshake.
    pub handshake: Duration,
    /// Longest time from a connection's start to the end of its first request's head, and from the first byte of any
    /// later HTTP/1.1 head to its end.
    pub header_read: Duration,
    /// Longest time that a connection stays open with nothing in flight.
    pub idle: Duration,
    /// Longest time that a response makes no progress because the client does not read it.
    pub write_stall: Duration,
    /// Longest time to read and discard what a client still sends after the last answer, so that the answer reaches it.
    pub linger: Duration,
    /// Longest time for what is in flight to finish, once the server is told to stop.
    pub drain: Duration,
    /// Most bytes of a request's head; at least 8 KiB. An HTTP/1.1 head that arrives all at once may be up to twice as large.
    pub header_bytes: usize,
    /// Most header fields in a request (HTTP/1.1; HTTP/2 is bound by `header_bytes`).
    pub headers: usize,
    /// Most requests at once on one HTTP/2 connection.
    pub http2_streams: u32,
    /// Most HTTP/2 streams that a client may reset before we took them up ("rapid reset", CVE-2023-44487); one more ends the connection.
    pub http2_pending_resets: usize,
    /// Most HTTP/2 streams that we reset for a client's errors; one more ends the connection.
    pub http2_error_resets: usize,
    /// Time between HTTP/2 pings.
    pub http2_ping_every: Duration,
    /// Longest time for a ping to be answered.
    pub http2_ping_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_peer: None,
            handshake: Duration::from_secs(10),
            header_read: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            linger: Duration::from_secs(1),
            drain: Duration::from_secs(30),
            header_bytes: 64 * 1024,
            headers: 100,
            http2_streams: 100,
            http2_pending_resets: 20,
            http2_error_resets: 256,
            http2_ping_every: Duration::from_secs(20),
            http2_ping_timeout: Duration::from_secs(20),
        }
    }
}
