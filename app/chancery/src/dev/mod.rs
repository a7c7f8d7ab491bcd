//! `chancery dev`: a server to try things out, which needs nothing and leaves everything in one folder.

mod additions;
mod chains;
mod demo;
mod folder;
mod greeting;
mod hostile;
mod json;
mod pebble;
mod tls;
mod wishes;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::installation::{Addresses, Installation};
use crate::serve::{self, Flags, Listeners};
use crate::threads::Threads;
use crate::version::VERSION;
use additions::DevAdditions;
use chancery_domain::Clock;
use chancery_machine::{SystemClock, Telemetry, start_log};
use chancery_service::operator::{KeyAlgorithm, NewHierarchy};
use folder::Folder;
use hostile::{HostileArgs, Pause};
pub use json::DevJson;
use pebble::{Environment, Pebble, PebbleArgs};
use wishes::Wishes;

/// Where `dev` keeps everything unless it is told otherwise.
pub const DEFAULT_FOLDER: &str = "./chancery-data";

#[derive(Args)]
pub struct DevArgs {
    /// Keep everything in this folder: database, keys, certificates, credentials
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    data_dir: PathBuf,
    /// HTTPS: the reseller API and the token endpoint; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Plain HTTP for relying parties
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    http_listen: SocketAddr,
    /// Health and metrics: /livez, /readyz, /metrics
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9090")]
    admin_listen: SocketAddr,
    /// Use this database: sqlite://path or postgres://user:password@host/name [default: SQLite in the folder]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Limit the request rate of each reseller, as `serve` does
    #[arg(long)]
    limits: bool,
    /// Ask this DNS server, such as 127.0.0.1:8053, for all that is not an address under .test or .localhost
    #[arg(long, value_name = "ADDR", value_parser = server)]
    dns: Option<SocketAddr>,
    /// Look for http-01 answers on this port
    #[arg(long, value_name = "PORT", default_value_t = 5002, value_parser = clap::value_parser!(u16).range(1..))]
    http01_port: u16,
    /// Look for tls-alpn-01 answers on this port; redirects to HTTPS may lead there as well
    #[arg(long, value_name = "PORT", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..))]
    tls_alpn01_port: u16,
    /// Offer the challenges that are drafts as well: dns-account-01 and dns-persist-01
    #[arg(long)]
    draft_challenges: bool,
    /// Take every name for shown: nothing is looked up, and nobody is asked
    #[arg(long)]
    skip_validation: bool,
    /// Send traces to this OpenTelemetry collector, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    #[command(flatten)]
    pebble: PebbleArgs,
    #[command(flatten)]
    hostile: HostileArgs,
}

impl DevArgs {
    fn wishes(&self, listen: Addresses, environment: &Environment) -> Wishes {
        Wishes {
            database_url: self.database_url.clone(),
            listen: Some(listen),
            limits: self.limits,
            dns: self.dns,
            http01_port: self.http01_port,
            tls_alpn01_port: self.tls_alpn01_port,
            draft_challenges: self.draft_challenges,
            skip_validation: self.skip_validation || environment.always_valid,
            force_processing: self.hostile.force_processing,
            reuse: environment.reuse.unwrap_or(true),
            pebble: self.pebble.pebble,
        }
    }

    /// The addresses that the certificate of the HTTPS listeners is for.
    fn listening_on(&self) -> Vec<IpAddr> {
        let pebble = [self.pebble.pebble_listen, self.pebble.pebble_management_listen];
        let pebble = pebble.into_iter().filter(|_| self.pebble.pebble);
        [self.listen].into_iter().chain(pebble).map(|address| address.ip()).collect()
    }

    /// What Pebble's variables say, where its place is taken.
    fn environment(&self) -> Result<Environment, Failure> {
        if self.pebble.pebble { Environment::read() } else { Ok(Environment::default()) }
    }

    /// How long to wait before a look for an answer.
    fn pause(&self, environment: &Environment) -> Option<Pause> {
        let asked = self.hostile.slow_validation.map(|seconds| Pause::For(Duration::from_secs(seconds)));
        asked.or(environment.pause)
    }
}

/// The address of a server; without a host, or on localhost, it is on this machine.
fn server(text: &str) -> Result<SocketAddr, String> {
    let here = text.strip_prefix("localhost").unwrap_or(text);
    let here = here.strip_prefix(':').map(|port| format!("127.0.0.1:{port}"));
    let address = here.as_deref().unwrap_or(text).parse();
    address.map_err(|_| "a server is an IP address with a port, such as 127.0.0.1:8053".to_owned())
}

/// The installation in the folder of a `dev`, whether it runs or not.
pub fn find(folder: &Path) -> Result<Installation, Failure> {
    Folder::find(folder)?.installation(&Wishes::default())
}

/// The installation in the folder of a `dev`, which is made if it is not there.
pub fn find_or_make(folder: &Path) -> Result<Installation, Failure> {
    let folder = Folder::make(folder)?;
    folder.remember_database(None)?;
    folder.installation(&Wishes::default())
}

/// The CAs of a `dev`. An RSA key of 2048 bits is made in a tenth of a second, one of 3072 bits seldom takes a whole
/// one: `dev` is ready at once each time.
pub fn hierarchy() -> NewHierarchy {
    let issuing = [("E1", KeyAlgorithm::EcP256), ("E2", KeyAlgorithm::EcP384), ("R1", KeyAlgorithm::Rsa2048)];
    NewHierarchy {
        country: "XX".to_owned(),
        organization: "Chancery Dev".to_owned(),
        root: "Chancery Dev Root CA".to_owned(),
        issuing: issuing.map(|(name, key)| (format!("Chancery Dev Issuing CA {name}"), key)).into(),
        keys: None,
    }
}

/// Runs until it is told to stop.
pub fn run(args: &DevArgs) -> Result<(), Failure> {
    let environment = args.environment()?;
    let folder = Folder::make(&args.data_dir)?;
    let _held = folder.hold()?;
    // It is there only while a server is ready: who waits for it must not find the one of the last time.
    folder.remove_dev_json()?;

    let threads = Threads::start()?;
    let addresses = Addresses { api: args.listen, http: args.http_listen, admin: args.admin_listen };
    let listeners = threads.run(Listeners::bind(addresses, Flags::COMMAND_LINE))?;
    let pebble_listeners = threads.run(async { args.pebble.bind() })?;
    let mut installation = folder.installation(&args.wishes(listeners.addresses()?, &environment))?;
    installation.telemetry = args.otlp_endpoint.clone().map(Telemetry::to);
    let log = start_log(&installation.log, installation.telemetry.as_ref(), VERSION)?;
    let metrics = serve::start_metrics()?;

    let now = SystemClock.now();
    let keyring = installation.keyring_or_new(now.as_secs())?;
    let store = installation.open_store(&installation.store)?;
    tls::ensure(&folder, &args.listening_on(), now)?;
    threads.run(async {
        let mut assembled = installation.assemble(store, keyring).await?;
        folder.remember_database(args.database_url.as_deref())?;
        assembled.services.troubles = log.troubles.clone();
        let hierarchy = assembled.services.operator.init_hierarchy(hierarchy()).await?;
        chains::ensure(&folder, &assembled.services.operator, &hierarchy, now).await?;
        assembled.services.authority.reload().await?;
        folder.write_issuer_root(&hierarchy)?;
        let demo = demo::ensure(&folder, &assembled).await?;
        let place = pebble_listeners.as_ref().map(|listeners| listeners.place(&args.pebble)).transpose()?;
        let pebble = match pebble_listeners {
            Some(listeners) => {
                environment.tell_unheard();
                let stand_in = pebble::ensure(&folder, &assembled, &args.pebble).await?;
                let mount = pebble::mount(&environment, &args.hostile, stand_in);
                Some(Pebble { listeners, mount, tls: args.pebble.tls(), tls_ca: tls::ca(&folder)? })
            }
            None => None,
        };
        let mut additions = DevAdditions {
            installation: &installation,
            assembled: &assembled,
            faults: args.hostile.faults(0),
            pause: args.pause(&environment),
            caa: args.hostile.caa || pebble.is_none(),
            pebble,
        };
        let ready = || {
            folder.write_dev_json(&installation, &demo, place.as_ref())?;
            greeting::print(&folder, &installation, &demo, place.as_ref(), &args.hostile)
        };
        serve::run(&installation, &assembled, listeners, metrics, &mut additions, ready).await
    })?;
    folder.remove_dev_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_may_leave_out_its_host() {
        for text in ["127.0.0.1:8053", ":8053", "localhost:8053"] {
            assert_eq!(server(text), Ok(SocketAddr::from(([127, 0, 0, 1], 8053))), "{text}");
        }
        assert_eq!(server("[::1]:53").unwrap().to_string(), "[::1]:53");
        for bad in ["", "8053", "localhost", "127.0.0.1", "dns.example:53", "localhosts:53"] {
            assert!(server(bad).is_err(), "{bad}");
        }
    }
}
