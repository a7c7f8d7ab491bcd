//! What a test environment adds to the service. It comes with the program that starts it, and from no configuration.

use std::sync::Arc;

use axum::Router;
use chancery_acme::Mount;
use chancery_service::Services;
use chancery_workers::Inspector;
use tokio::net::TcpListener;

use crate::installation::{Installation, TlsFiles};

pub trait Additions {
    /// How ACME is mounted on the service's own listener.
    fn acme(&self) -> Arc<Mount>;

    /// Who looks at the world, given who would.
    fn inspector(&self, usual: Option<Arc<dyn Inspector>>) -> Option<Arc<dyn Inspector>>;

    /// Further listeners for HTTPS.
    fn doors(&mut self, installation: &Installation, services: &Services) -> Vec<AddedDoor>;
}

/// A listener, and what it serves.
pub struct AddedDoor {
    pub listener: TcpListener,
    pub router: Router,
    /// Its own certificate, where it is not that of the service.
    pub tls: Option<TlsFiles>,
}

/// What `serve` adds.
pub struct Nothing;

impl Additions for Nothing {
    fn acme(&self) -> Arc<Mount> {
        Arc::default()
    }

    fn inspector(&self, usual: Option<Arc<dyn Inspector>>) -> Option<Arc<dyn Inspector>> {
        usual
    }

    fn doors(&mut self, _: &Installation, _: &Services) -> Vec<AddedDoor> {
        Vec::new()
    }
}
