//! A listener that serves a router, within limits, until it is told to stop.

mod activity;
mod announced;
mod connection;
mod host;
mod limits;
mod peers;
mod socket;

use std::{future::Future, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};
use tracing::{info, warn};

use crate::proxies::TrustedProxies;

pub(crate) use self::host::UnclearHost;
pub use self::{
    announced::{Announced, announced},
    connection::{OverTls, PeerAddr},
    limits::Limits,
};
use chancery_overload::Limit;

use self::{connection::Attendant, peers::Peers};

/// Refused or failed connections, by `reason`.
const REFUSED: &str = "chancery_http_connections_refused_total";
const OPEN: &str = "chancery_http_connections";

/// Serves one router on one listener, plain or over TLS, HTTP/1.1 and HTTP/2.
///
/// Handlers find [`PeerAddr`] in the request's extensions, and [`OverTls`] when the connection is.
pub struct Server {
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    proxies: Arc<TrustedProxies>,
}

/// How a server came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open when the time to drain was over, and were cut.
    pub cut: usize,
}

impl Server {
    /// A server without TLS.
    pub fn plain(router: Router) -> Self {
        Self { router, tls: None, limits: Limits::default(), proxies: Arc::default() }
    }

    /// A server with TLS: see [`crate::tls::server_config`].
    pub fn tls(router: Router, config: Arc<ServerConfig>) -> Self {
        Self { tls: Some(config), ..Self::plain(router) }
    }

    /// Lets these proxies have any number of connections; and where they speak the PROXY protocol, believes them when they
    /// say whose each is.
    pub fn trusting(mut self, proxies: &TrustedProxies) -> Self {
        self.proxies = Arc::new(proxies.clone());
        self
    }

    /// Replaces the default limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Accepts until `shutdown` completes; then stops accepting at once, lets what is in flight finish for at most
    /// [`Limits::drain`], and cuts the rest. No failure to accept ends it earlier.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()> + Send + 'static) -> Drained {
        self.serve_until(listener, Box::pin(shutdown)).await
    }

    /// As an object: so connections, with all that is under them, are compiled here and not with whoever starts a server.
    fn serve_until(self, listener: TcpListener, shutdown: BoxFuture<'static, ()>) -> BoxFuture<'static, Drained> {
        Box::pin(self.serve_on(listener, shutdown))
    }

    async fn serve_on(self, listener: impl Accept, shutdown: impl Future<Output = ()>) -> Drained {
        let limits = self.limits;
        let places = Arc::new(Semaphore::new(limits.connections));
        let peers = Peers::new(limits.connections_per_peer, self.proxies.clone());
        let attendant = Arc::new(Attendant::new(self.router, self.tls, limits));
        let announce = self.proxies.announce;
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut pause = Pause::default();
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => continue,
                accepted = async { sleep_until(pause.until).await; listener.accept().await } => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause.after(&error);
                    continue;
                }
            };
            pause = Pause::default();
            let Ok(place) = places.clone().try_acquire_owned() else {
                Limit::Connections.count_refusal();
                continue;
            };
            let Some(share) = peers.admit(peer.ip()) else {
                Limit::ConnectionsPerAddress.count_refusal();
                continue;
            };
            let (attendant, peers, stopping) = (attendant.clone(), peers.clone(), stopping.clone());
            connections.spawn(async move {
                let open = metrics::gauge!(OPEN);
                open.increment(1);
                let _leave = Leave { open, _place: place, _share: share };
                let refused = match announce && peers.trusts(peer.ip()) {
                    true => attendant.attend_announced(stream, peer, &peers, stopping).await,
                    false => attendant.attend(stream, peer, stopping).await,
                };
                if let Some(reason) = refused {
                    metrics::counter!(REFUSED, "reason" => reason).increment(1);
                }
            });
        }
        drop(listener);
        stop.send_replace(true);
        drain(connections, limits.drain).await
    }
}

/// Lets connections finish, then cuts what is left.
async fn drain(mut connections: JoinSet<()>, longest: Duration) -> Drained {
    if !connections.is_empty() {
        info!(connections = connections.len(), "finishing what is in flight");
    }
    let _ = timeout(longest, async { while connections.join_next().await.is_some() {} }).await;
    let cut = connections.len();
    if cut > 0 {
        warn!(connections = cut, "cut connections that did not finish in time");
    }
    connections.shutdown().await;
    Drained { cut }
}

/// Gives back what a connection held, however it ends.
struct Leave {
    open: metrics::Gauge,
    _place: tokio::sync::OwnedSemaphorePermit,
    _share: peers::PeerConnection,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.open.decrement(1);
    }
}

/// Where connections come from; a trait so that a test can have failures to accept.
trait Accept: Send {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        TcpListener::accept(self)
    }
}

/// Waits longer after each failure to accept: out of file descriptors (EMFILE), say, a listener stays ready, and trying
/// again at once would burn a core and fill the log.
struct Pause {
    until: Instant,
    next: Duration,
}

impl Default for Pause {
    fn default() -> Self {
        Self { until: Instant::now(), next: Duration::from_millis(20) }
    }
}

impl Pause {
    fn after(&mut self, error: &io::Error) {
        // One connection that went away before we took it says nothing about the next.
        let only_this_one = [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset];
        if only_this_one.contains(&error.kind()) {
            return;
        }
        warn!(%error, pause = ?self.next, "cannot accept connections");
        metrics::counter!(REFUSED, "reason" => "accept_failed").increment(1);
        self.until = Instant::now() + self.next;
        self.next = (self.next * 2).min(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests;
