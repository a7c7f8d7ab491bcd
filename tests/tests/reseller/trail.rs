//! The audit trail, as the operator reads it.

use std::net::SocketAddr;

use axum::Extension;
use chancery_domain::PageRequest;
use chancery_http::PeerAddr;
use chancery_store::{AuditFilter, AuditRecord, Outcome};
use chancery_tests::{Reply, Tenant, World};
use http::Method;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const ADDRESS: &str = "192.0.2.7";

/// The world, reached from an address.
pub(crate) fn from_an_address(mut world: World) -> World {
    let peer: SocketAddr = format!("{ADDRESS}:50000").parse().unwrap();
    world.router = world.router.clone().layer(Extension(PeerAddr(peer)));
    world
}

/// Writes refusals down until it is stopped.
pub(crate) struct Writer {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Writer {
    pub(crate) fn start(world: &World) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let audit = world.services.audit.clone();
        let task = tokio::spawn(async move { audit.run(async { drop(stopped.await) }).await });
        Self { stop, task }
    }

    /// Everything that was refused so far is written when this returns.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// Everything that fits the filter, newest first.
pub(crate) async fn records(world: &World, filter: AuditFilter) -> Vec<AuditRecord> {
    let page = PageRequest { limit: 10_000, after: None };
    world.services.audit.list(filter, page).await.unwrap()
}

/// What was written about one request.
pub(crate) async fn about(world: &World, request_id: &str) -> Vec<AuditRecord> {
    records(world, AuditFilter { request_id: Some(request_id.to_owned()), ..AuditFilter::default() }).await
}

pub(crate) async fn done(world: &World) -> usize {
    records(world, AuditFilter { outcome: Some(Outcome::Done), ..AuditFilter::default() }).await.len()
}

/// A request under a name of its own.
pub(crate) async fn named(who: &Tenant, id: &str, method: Method, path: &str, body: Option<Value>) -> Reply {
    let reply = who.send(method, path, &[("x-request-id", id)], body.as_ref()).await;
    assert_eq!(reply.header("x-request-id"), Some(id));
    reply
}

pub(crate) fn detail(record: &AuditRecord) -> Value {
    serde_json::from_str(&record.detail).unwrap()
}
