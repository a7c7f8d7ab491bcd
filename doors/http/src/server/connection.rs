//! One connection from its first byte to its last.

use std::{convert::Infallible, future::Future, net::SocketAddr, pin::pin, sync::Arc};

use axum::{Router, body::Body};
use chancery_overload::{Limit, ResponsePermit};
use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use tokio_rustls::TlsAcceptor;
use tower::Service;
use tracing::debug;

use super::{
    activity::{Activity, Tracked, Verdict},
    announced,
    host::UnclearHost,
    limits::Limits,
    peers::Peers,
    socket::Socket,
};

/// The address a request came from: the client's, or that of the last proxy before us. In every request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(
    /// The address of the other end of the connection.
    pub SocketAddr,
);

/// In the extensions of every request that came over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverTls;

/// Attends to connections: everything they have in common.
pub(super) struct Attendant {
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    http: Builder<TokioExecutor>,
}

impl Attendant {
    pub(super) fn new(router: Router, tls: Option<Arc<ServerConfig>>, limits: Limits) -> Self {
        Self { router, tls: tls.map(TlsAcceptor::from), limits, http: protocol(&limits) }
    }

    /// Serves one connection, on which a trusted proxy says first whose it is, to its end. Gives the reason if it was
    /// we who did not want to go on.
    pub(super) async fn attend_announced(
        &self,
        mut stream: TcpStream,
        proxy: SocketAddr,
        peers: &Peers,
        mut stopping: watch::Receiver<bool>,
    ) -> Option<&'static str> {
        let said = tokio::select! {
            said = timeout(self.limits.handshake, announced::read(&mut stream)) => said,
            () = stop(&mut stopping) => return None,
        };
        let client = match said {
            Ok(Ok(client)) => client.unwrap_or(proxy),
            Ok(Err(error)) => {
                debug!(%proxy, %error, "a proxy does not say whose connection it is");
                return Some("proxy_protocol");
            }
            Err(_) => return Some("handshake_timeout"),
        };
        let Some(_share) = peers.admit(client.ip()) else {
            Limit::ConnectionsPerAddress.count_refusal();
            return None;
        };
        self.attend(stream, client, stopping).await
    }

    /// Serves one connection to its end. Gives the reason if it was we who did not want to go on.
    pub(super) async fn attend(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        mut stopping: watch::Receiver<bool>,
    ) -> Option<&'static str> {
        // Responses are written whole: waiting for more to send (Nagle) would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%peer, %error, "cannot set TCP_NODELAY");
        }
        let Some(tls) = &self.tls else {
            return self.converse(stream, peer, None, stopping).await;
        };
        let handshake = timeout(self.limits.handshake, tls.accept(stream));
        let shaken = tokio::select! {
            shaken = handshake => shaken,
            () = stop(&mut stopping) => return None,
        };
        match shaken {
            Ok(Ok(stream)) => self.converse(stream, peer, Some(OverTls), stopping).await,
            Ok(Err(error)) => {
                debug!(%peer, %error, "TLS handshake failed");
                Some("handshake_failed")
            }
            Err(_) => Some("handshake_timeout"),
        }
    }

    async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        peer: SocketAddr,
        tls: Option<OverTls>,
        mut stopping: watch::Receiver<bool>,
    ) -> Option<&'static str> {
        let activity = Arc::new(Activity::new());
        let socket = TokioIo::new(Socket::new(stream, activity.clone(), self.limits.linger));
        let service = service_fn(|request| self.answer(request, peer, tls, &activity));
        let mut connection = pin!(self.http.serve_connection(socket, service));
        let mut told_to_stop = false;
        let mut retired = None;
        loop {
            let now = Instant::now();
            let look_again = match (retired, activity.verdict(now, &self.limits)) {
                (Some(at), Verdict::Retire) if now >= at + self.limits.header_read => return Some("idle"),
                (Some(at), Verdict::Retire) => at + self.limits.header_read,
                (None, Verdict::Retire) => {
                    connection.as_mut().graceful_shutdown();
                    retired = Some(now);
                    continue;
                }
                (_, Verdict::EndBy(then)) => {
                    connection.as_mut().graceful_shutdown();
                    then
                }
                (_, Verdict::KeepUntil(then)) => then,
                (_, Verdict::Cut(reason)) => {
                    debug!(%peer, reason, "connection cut");
                    return Some(reason);
                }
            };
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        debug!(%peer, %error, "connection ended");
                    }
                    return None;
                }
                () = sleep_until(look_again) => {}
                () = stop(&mut stopping), if !told_to_stop => {
                    told_to_stop = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        tls: Option<OverTls>,
        activity: &Arc<Activity>,
    ) -> impl Future<Output = Result<Response<Tracked>, Infallible>> + Send + use<> {
        let exchange = activity.begin(request.version());
        let unclear = UnclearHost::of(&request);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(PeerAddr(peer));
        if let Some(unclear) = unclear {
            request.extensions_mut().insert(unclear);
        }
        if let Some(tls) = tls {
            request.extensions_mut().insert(tls);
        }
        let response = self.router.clone().call(request);
        async move {
            let mut response = response.await?;
            let permit = response.extensions_mut().remove::<Arc<ResponsePermit>>();
            Ok(response.map(|body| exchange.respond(body, permit)))
        }
    }
}

/// Completes when the server is told to stop.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is a stop too.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// HTTP/1.1 and HTTP/2, whichever the client speaks.
fn protocol(limits: &Limits) -> Builder<TokioExecutor> {
    /// What hyper insists on.
    const LEAST_BUFFER: usize = 8 * 1024;
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // See `activity`: hyper's timer cannot tell an idle connection from a slow head.
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes.max(LEAST_BUFFER))
        .max_headers(limits.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(limits.http2_pending_resets)
        .max_local_error_reset_streams(limits.http2_error_resets)
        .keep_alive_interval(limits.http2_ping_every)
        .keep_alive_timeout(limits.http2_ping_timeout)
        // Bodies are small; a connection with all its streams full must not cost megabytes.
        .initial_stream_window_size(64 * 1024)
        .initial_connection_window_size(512 * 1024)
        .max_send_buf_size(64 * 1024);
    builder
}
