//! The running service: listeners, background work, and a stop that loses nothing.

mod additions;
mod admin;
mod background;
mod catalogue;
mod descriptors;
mod gauges;
mod lasting;
mod listeners;
mod log_list;
mod metrics;
mod signals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chancery_acme::Mount;
use chancery_dcv::{HostResolver, HostResolverConfig};
use chancery_domain::{Clock, Entropy, Timestamp};
use chancery_http::tls::{ReloadingCertificate, server_config};
use chancery_http::{Door, Edge, RequestIdSource, Server, account_for, finish};
use chancery_publish::{Publisher, PublisherConfig};
use chancery_service::Services;
use chancery_store::Store;
use chancery_workers::{Courier, Eyes, WebhookHosts, Workers};
use clap::Args;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use additions::{AddedDoor, Additions};
pub use background::CERTIFICATE_LOOK;
pub use descriptors::raise_limit;
pub use listeners::{Flags, Listeners, bind};
pub use metrics::start as start_metrics;
pub use signals::Signals;

use crate::assembly::Assembled;
use crate::config;
use crate::failure::Failure;
use crate::installation::{Installation, TlsFiles};
use crate::resolvers;
use crate::threads::Threads;
use crate::version::VERSION;
use additions::Nothing;
use admin::Health;
use chancery_machine::{SystemClock, SystemEntropy, start_log};
use lasting::Lasting;

/// How long the last things that are to be written may take.
const LAST: Duration = Duration::from_secs(10);
/// How often the files of the database are looked after.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The configuration file; chancery.example.toml explains every setting
    #[arg(long, value_name = "FILE", env = "CHANCERY_CONFIG")]
    config: PathBuf,
    /// Use this database instead of the one in the configuration
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

/// Starts the service that a configuration describes, and runs it until it is told to stop.
pub fn start(args: &ServeArgs) -> Result<(), Failure> {
    let mut installation = config::load(&args.config, args.database_url.as_deref())?;
    let log = start_log(&installation.log, installation.telemetry.as_ref(), VERSION)?;
    for warning in installation.warnings(SystemClock.now().as_secs()) {
        tracing::warn!("{warning}");
    }
    let keyring = installation.keyring()?;
    installation.find_resolvers(Path::new(resolvers::SYSTEM))?;
    let threads = Threads::start()?;
    let listeners = threads.run(Listeners::bind(installation.listen, Flags::CONFIGURATION))?;
    let addresses = listeners.addresses()?;
    let metrics = start_metrics()?;
    installation.require_database()?;
    installation.require_filled()?;
    let store = installation.open_store(&installation.store)?;
    threads.run(async {
        let mut assembled = installation.assemble(store, keyring).await?;
        assembled.services.troubles = log.troubles.clone();
        if assembled.services.operator.issuers().await?.is_empty() {
            let missing = Failure::usage(format!("there is no certificate authority in {} yet", installation.database));
            return Err(missing.advise(format!("run `chancery init {}` first", installation.place)));
        }
        for (profile, key_type) in assembled.services.authority.gaps() {
            tracing::warn!(%profile, %key_type, "no active CA may sign such certificates; see `chancery ca list`");
        }
        for ending in assembled.services.authority.ending() {
            let not_after = Timestamp::from_secs(ending.issuer.not_after());
            let command = ending.remedy().command();
            let what = if ending.ends_with_chain() { "the chain of a CA" } else { "a CA" };
            tracing::warn!(ca = ending.name, %not_after, "{what} ends soon and shortens what it signs; see `{command}`");
        }
        // Nobody waits for a token that does not answer.
        tokio::spawn(warn_of_unusable_keys(assembled.services.clone()));
        let ready = || {
            tracing::info!(
                version = VERSION,
                listen = %addresses.api,
                http_listen = %addresses.http,
                admin_listen = %addresses.admin,
                tls = installation.tls.is_some(),
                base_url = installation.urls.base_url,
                database = %installation.database,
                "ready"
            );
            Ok(())
        };
        run(&installation, &assembled, listeners, metrics, &mut Nothing, ready).await
    })
}

/// A token may be away when the service starts, and need not be there before something has to be signed.
async fn warn_of_unusable_keys(services: Services) {
    let cas = services.authority.all();
    let check = move || cas.into_iter().filter_map(|ca| Some((ca.name.clone(), ca.issuer.check_key().err()?)));
    let unusable = tokio::task::spawn_blocking(move || check().collect::<Vec<_>>()).await.unwrap_or_default();
    for (ca, error) in unusable {
        tracing::error!(ca, %error, "the key of a CA cannot be used; what it has to sign waits");
    }
}

/// Serves until a signal says to stop, or a fault; then finishes what is in flight, writes down what waits, and returns.
/// `ready` is called once everything answers.
pub async fn run(
    installation: &Installation,
    assembled: &Assembled,
    listeners: Listeners,
    metrics: PrometheusHandle,
    additions: &mut dyn Additions,
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let _held = installation.hold_database()?;
    raise_limit();
    let mut signals = Signals::listen()?;
    let certificate = installation.tls.as_ref().map(load).transpose()?;
    let inspector = additions.inspector(installation.inspector()?);
    let services = match &inspector {
        Some(inspector) => assembled.services.clone().asking(Arc::new(Eyes::new(inspector.clone()))),
        None => assembled.services.clone(),
    };
    metrics::introduce_profiles(&installation.settings.profiles);
    let health = Health::new(assembled.kernel.clone());
    let (stop, _) = watch::channel(false);
    let (stop_last, _) = watch::channel(false);

    // The lists are at hand before anybody asks. A node that cannot have them now gets them as soon as it can.
    if let Err(error) = assembled.services.publication.look().await {
        tracing::warn!(%error, "the revocation lists are not there yet");
    }
    let (limits, proxies) = (installation.limits.http, &installation.proxies);
    let api = server(api(installation, &services, additions.acme()), certificate.clone())?;
    let mut doors = JoinSet::new();
    for AddedDoor { listener, router, tls } in additions.doors(installation, &services) {
        let own = tls.as_ref().map(load).transpose()?;
        doors.spawn(server(router, own.or(certificate.clone()))?.limits(limits).serve(listener, stopped(&stop)));
    }
    doors.spawn(api.limits(limits).trusting(proxies).serve(listeners.api, stopped(&stop)));
    let relying = Server::plain(relying(installation, assembled)).limits(limits).trusting(proxies);
    doors.spawn(relying.serve(listeners.http, stopped(&stop)));
    // Watched until the very end: whoever drains us wants to see that we are not ready, rather than nothing.
    let admin = Server::plain(admin::router(health.clone(), metrics.clone())).limits(limits);
    let mut admin = tokio::spawn(admin.serve(listeners.admin, stopped(&stop_last)));
    let mut tasks = background::start(assembled, &health, certificate.clone(), metrics);
    let urls = installation.settings.webhooks.urls;
    let hosts = WebhookHosts(HostResolver::new(HostResolverConfig::default(), Arc::new(SystemEntropy)));
    let publisher = PublisherConfig::new(urls.plain_http, urls.special_addresses);
    let publisher = Publisher::new(publisher, Arc::new(hosts));
    let courier = Courier::new(services.clone(), publisher, Arc::new(SystemClock));
    let keepers = installation.log_keepers();
    tasks.spawn(background::keep("log list", {
        let (logs, keepers, services) = (installation.logs.clone(), keepers.clone(), services.clone());
        move || log_list::watch(logs.clone(), keepers.clone(), services.clone())
    }));
    let workers = Workers::new(services, inspector, Arc::new(SystemClock)).with_logs(keepers);
    let audit = background::write_refusals(assembled.services.audit.clone(), stop_last.subscribe());
    let mut lasting = Lasting::default();
    lasting.spawn("webhooks", courier.run(stopped(&stop_last)));
    lasting.spawn("jobs", workers.run(stopped(&stop_last)));
    lasting.spawn("refusals for the audit trail", audit);
    lasting.spawn("the files of the database", {
        let (store, stopped) = (assembled.kernel.store.clone(), stopped(&stop_last));
        async move {
            tokio::select! {
                () = stopped => {}
                () = until_reopening_helps(store) => {}
            }
        }
    });

    // `chancery doctor` looks for it there. Where this fails, it is tried again, and told.
    let _listed = assembled.services.nodes.announce(&background::host_name(), VERSION, SystemClock.now()).await;
    health.set_ready(true);
    ready()?;
    let ended = tokio::select! {
        () = signals.until_stop(certificate.as_deref()) => None,
        name = lasting.one_ends() => Some(name),
        // They are told to stop only below.
        Some(_) = doors.join_next() => Some("a listener"),
        _ = &mut admin => Some("the admin listener"),
    };
    tracing::info!("stopping: finishing what is in flight");
    health.set_ready(false);
    signals.exit_on_the_next();
    tokio::time::sleep(installation.shutdown_delay).await;
    stop.send_replace(true);
    while doors.join_next().await.is_some() {}
    tasks.abort_all();
    stop_last.send_replace(true);
    lasting.end_within(LAST).await;
    admin.abort();
    while tasks.join_next().await.is_some() {}
    if !matches!(tokio::time::timeout(LAST, assembled.services.nodes.leave()).await, Ok(Ok(()))) {
        tracing::warn!("gave up taking this node off the list");
    }
    let store = assembled.kernel.store.clone();
    let has_log = !store.ends_with_reopening();
    match tokio::task::spawn_blocking(move || store.empty_log()).await {
        Ok(Ok(())) => {}
        // Nothing is lost: the next start finds it there.
        left if has_log => tracing::warn!(?left, "what was written last is still in the log beside the database"),
        _ => {}
    }
    tracing::info!("stopped");
    match ended {
        None => Ok(()),
        // Whoever starts us does so again, and a node that issues nothing must not stay.
        Some(name) => Err(Failure::failed(format!("the work on {name} ended by a fault: see the log"))),
    }
}

/// Whoever starts the service again opens the database anew.
async fn until_reopening_helps(store: Store) {
    while !store.ends_with_reopening() {
        tokio::time::sleep(LOOK).await;
        store.look_after_files().await;
    }
}

/// The certificate of a listener.
pub fn load(files: &TlsFiles) -> Result<Arc<ReloadingCertificate>, Failure> {
    ReloadingCertificate::load(&files.certificate, &files.key).map_err(Failure::usage)
}

/// Over TLS where there is a certificate.
pub fn server(router: Router, certificate: Option<Arc<ReloadingCertificate>>) -> Result<Server, Failure> {
    match certificate {
        Some(certificate) => Ok(Server::tls(router, server_config(certificate).map_err(Failure::failed)?)),
        None => Ok(Server::plain(router)),
    }
}

/// Completes once the flag is raised.
pub fn stopped(flag: &watch::Sender<bool>) -> impl Future<Output = ()> + Send + 'static {
    let mut raised = flag.subscribe();
    async move {
        let _ = raised.wait_for(|raised| *raised).await;
    }
}

/// The reseller API, ACME, the token endpoint and the console.
fn api(installation: &Installation, services: &Services, acme: Arc<Mount>) -> Router {
    let urls = Arc::new(installation.urls.clone());
    let door = Door { services: Arc::new(services.clone()), urls, version: VERSION };
    let router = chancery_reseller::router(door.clone())
        .merge(chancery_identity::router(door.clone()))
        .merge(chancery_acme::mounted(door.clone(), acme.clone()))
        .merge(chancery_console::router(door.clone()));
    let edge = edge(installation)
        .wording(chancery_acme::ROOT, chancery_acme::wording(door.clone(), acme))
        .wording(chancery_console::PATH, chancery_console::wording());
    finish(account_for(router, door), edge)
}

/// What relying parties fetch: CRLs, OCSP answers and issuer certificates.
fn relying(installation: &Installation, assembled: &Assembled) -> Router {
    let router = chancery_relying::router(assembled.services.clone());
    finish(router, edge(installation))
}

/// Where customers order: other requests follow.
const ORDERING: &[&str] = &["/v1/order", "/acme/{profile}/new-order", "/acme/{profile}/new-authz"];

/// What stands around the routers of an installation.
pub fn edge(installation: &Installation) -> Edge {
    let edge = Edge::new(request_ids()).body_limits(installation.limits.body).trusting(installation.proxies.clone());
    let edge = match &installation.telemetry {
        Some(telemetry) => edge.continuing_traces_of(telemetry.continued.clone()),
        None => edge,
    };
    let edge = edge.beginning_at(ORDERING);
    match installation.limits.requests_at_once {
        Some(most) => edge.at_most(most),
        None => edge,
    }
}

pub fn request_ids() -> RequestIdSource {
    let entropy: &'static dyn Entropy = &SystemEntropy;
    Arc::new(move || entropy.uuid_v7(SystemClock.now()).to_string())
}
