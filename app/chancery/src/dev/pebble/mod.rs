//! `dev --pebble`: what suites that were written for Pebble expect, where they expect it. It is our ACME door, mounted a
//! second time.

mod customers;
mod environment;
mod listener;
mod management;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use chancery_acme::{Mount, StandIn};
use chancery_http::{Door, finish};
use chancery_service::Services;
use clap::Args;
use tokio::net::TcpListener;

pub use customers::{Kept, ensure};
pub use environment::Environment;
use management::Management;

use super::folder::url;
use super::hostile::HostileArgs;
use super::json::PebbleJson;
use crate::assembly::Assembled;
use crate::failure::Failure;
use crate::installation::Installation;
use crate::serve;

/// Pebble rejects as many of a hundred nonces.
const REJECTED_NONCES: u8 = 5;
/// Pebble lists as many orders at a time.
const ORDERS_PER_PAGE: u32 = 3;
/// Pebble has terms, and wants them to be agreed to.
const TERMS: &str = "data:text/plain,Certificates%20for%20tests%20alone";

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "In place of Pebble")]
pub struct PebbleArgs {
    /// Serve Pebble's ports and paths as well; whoever reaches them gets certificates, and the CAs' private keys
    #[arg(long)]
    pub pebble: bool,
    /// HTTPS: ACME, its directory at /dir
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:14000", requires = "pebble")]
    pub pebble_listen: SocketAddr,
    /// HTTPS: roots, intermediates and their private keys, the status of certificates
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:15000", requires = "pebble")]
    pub pebble_management_listen: SocketAddr,
    /// Require external account binding there: kid-1, kid-2 and kid-3 of Pebble's example configuration are known
    #[arg(long, requires = "pebble")]
    pub pebble_eab: bool,
}

/// Pebble's two listeners, bound.
pub struct Listeners {
    pub acme: TcpListener,
    pub management: TcpListener,
}

impl PebbleArgs {
    /// Listens, if that is wanted.
    pub fn bind(&self) -> Result<Option<Listeners>, Failure> {
        if !self.pebble {
            return Ok(None);
        }
        Ok(Some(Listeners {
            acme: serve::bind(self.pebble_listen, "--pebble-listen")?,
            management: serve::bind(self.pebble_management_listen, "--pebble-management-listen")?,
        }))
    }
}

impl Listeners {
    /// Where they really are: a port 0 has become a free one.
    pub fn place(&self, args: &PebbleArgs) -> Result<PebbleJson, Failure> {
        let at = |listener: &TcpListener| listener.local_addr().map_err(Failure::failed);
        let (acme, management) = (at(&self.acme)?, at(&self.management)?);
        Ok(PebbleJson {
            directory_url: format!("{}/dir", url("https", acme)),
            management_url: url("https", management),
            eab_required: args.pebble_eab,
            open: ![acme, management].iter().all(|address| address.ip().is_loopback()),
        })
    }
}

/// What takes Pebble's place.
pub struct Pebble {
    pub listeners: Listeners,
    pub mount: Mount,
    /// Vouches for the listeners; in PEM.
    pub tls_ca: String,
}

impl Pebble {
    /// Its listeners, with what they serve.
    pub fn doors(
        self,
        installation: &Installation,
        assembled: &Assembled,
        services: &Services,
    ) -> [(TcpListener, Router); 2] {
        let Self { listeners, mount, tls_ca } = self;
        let door = Door {
            services: services.clone(),
            urls: Arc::new(installation.urls.clone()),
            limiter: serve::limiter(installation),
        };
        let port = listeners.acme.local_addr().map_or(0, |address| address.port());
        let usual = format!("localhost:{port}").parse().expect("a name and a port");
        let edge = serve::edge(installation);
        let around = edge.clone();
        let acme = listener::router(door, mount, usual, move |router| finish(router, around.clone()));
        let management = management::router(Management {
            kernel: assembled.kernel.clone(),
            operator: services.operator.clone(),
            profile: installation.settings.default_profile.clone(),
            tls_ca,
        });
        [(listeners.acme, acme), (listeners.management, finish(management, edge))]
    }
}

/// How the door is mounted in Pebble's place.
pub fn mount(
    installation: &Installation,
    environment: &Environment,
    hostile: &HostileArgs,
    stand_in: StandIn,
) -> Mount {
    Mount {
        layout: listener::layout(installation.settings.default_profile.as_str()),
        stand_in,
        terms_of_service: Some(TERMS.to_owned()),
        orders_per_page: environment.orders_per_page.map_or(ORDERS_PER_PAGE, Into::into),
        faults: hostile.faults(environment.reject_nonces.unwrap_or(REJECTED_NONCES)),
    }
}
