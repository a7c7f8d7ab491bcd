//! `dev --pebble`: what suites that were written for Pebble expect, where they expect it. It is our ACME door, mounted a
//! second time.

mod account_names;
mod choices;
mod customers;
mod environment;
mod hosts;
mod listener;
mod management;
mod renewal;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use chancery_acme::{Mount, ROOT, RenewalAnswers, StandIn};
use chancery_http::{Door, finish};
use chancery_service::Services;
use clap::Args;
use tokio::net::TcpListener;

pub use account_names::{AccountNames, Renaming};
use choices::{DEFAULT, ORDERS_PER_PAGE, REJECTED_NONCES, TERMS};
pub use choices::{policy, profiles};
pub use customers::{Kept, ensure};
pub use environment::Environment;
pub use hosts::own_names;
use management::Management;

use super::folder::url;
use super::hostile::HostileArgs;
use super::json::PebbleJson;
use crate::assembly::Assembled;
use crate::failure::Failure;
use crate::installation::{Installation, TlsFiles};
use crate::serve::{self, AddedDoor};
use crate::version::VERSION;

// It holds keys, so it has no `Debug`.
#[derive(Args)]
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
    /// Know another key there, its HMAC key in base64url; may be given several times
    #[arg(long, value_name = "KID=HMAC", requires = "pebble", value_parser = customers::key)]
    pub pebble_eab_key: Vec<(String, Vec<u8>)>,
    /// Use this certificate chain there, in PEM, such as a suite has for Pebble [default: the one of --listen]
    #[arg(long, value_name = "FILE", requires = "pebble_key")]
    pub pebble_certificate: Option<PathBuf>,
    /// The private key of that certificate
    #[arg(long, value_name = "FILE", requires_all = ["pebble", "pebble_certificate"])]
    pub pebble_key: Option<PathBuf>,
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

    /// The certificate that was given.
    pub fn tls(&self) -> Option<TlsFiles> {
        let (certificate, key) = self.pebble_certificate.clone().zip(self.pebble_key.clone())?;
        Some(TlsFiles { certificate, key })
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
    /// Its own certificate, where it was given one.
    pub tls: Option<TlsFiles>,
    /// Vouches for the listeners; in PEM.
    pub tls_ca: String,
}

impl Pebble {
    /// Where accounts are there, for whoever calls it as suites do.
    pub fn account_names(&self, installation: &Installation) -> AccountNames {
        let port = self.port();
        let hosts = ["localhost", "127.0.0.1", "[::1]", "pebble"];
        AccountNames {
            usual: format!("{}/acme/account/", installation.urls.acme_url),
            others: hosts.map(|host| format!("https://{host}:{port}/my-account/")).into(),
        }
    }

    fn port(&self) -> u16 {
        self.listeners.acme.local_addr().map_or(0, |address| address.port())
    }

    /// Its listeners, with what they serve.
    pub fn doors(self, installation: &Installation, assembled: &Assembled, services: &Services) -> [AddedDoor; 2] {
        let usual = format!("localhost:{}", self.port()).parse().expect("a name and a port");
        let Self { listeners, mount, tls, tls_ca } = self;
        let urls = Arc::new(installation.urls.clone());
        let door = Door { services: Arc::new(services.clone()), urls, version: VERSION };
        let edge = serve::edge(installation);
        let around = edge.clone();
        let renewal_answers = mount.renewal_answers.clone();
        let acme = listener::router(door, mount, usual, move |router, wording| {
            finish(router, around.clone().wording(ROOT, wording))
        });
        let management = management::router(Management {
            kernel: assembled.kernel.clone(),
            operator: services.operator.clone(),
            profile: choices::name(DEFAULT),
            renewal_answers,
            tls_ca,
        });
        let acme = AddedDoor { listener: listeners.acme, router: acme, tls: tls.clone() };
        let management = AddedDoor { listener: listeners.management, router: finish(management, edge), tls };
        [acme, management]
    }
}

/// How the door is mounted in Pebble's place.
pub fn mount(environment: &Environment, hostile: &HostileArgs, stand_in: StandIn) -> Mount {
    Mount {
        layout: listener::layout(DEFAULT),
        directory: Some(choices::name(DEFAULT)),
        stand_in,
        profiles: profiles().map(|profile| profile.name).into(),
        terms_of_service: Some(TERMS.to_owned()),
        orders_per_page: environment.orders_per_page.map_or(ORDERS_PER_PAGE, Into::into),
        renewal_answers: RenewalAnswers::default(),
        faults: hostile.faults(environment.reject_nonces.unwrap_or(REJECTED_NONCES)),
    }
}
