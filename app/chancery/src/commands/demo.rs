//! `chancery demo`: a certificate from a running `chancery dev`, from a new key to the finished chain, step by step as
//! a reseller and its customer would do it together.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::routing::get;
use chancery_client::wire::{Order, ResellerAccountRequest, ResellerOrderRequest};
use chancery_client::{Client, ClientCredentials, Fetched};
use chancery_domain::{ChallengeType, Identifier};
use chancery_pki::{KeyAlgorithm, PrivateKey, make_request};
use clap::Args;
use data_encoding::BASE64;
use der::pem::LineEnding;
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use crate::dev::{DEFAULT_FOLDER, DevJson};
use crate::failure::Failure;
use crate::files::{private_folder, write};
use crate::print::out;
use crate::threads::Threads;

/// Longer than any validation takes.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The folder of the running `chancery dev`
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    data_dir: PathBuf,
    /// The name the certificate is for, under .test or .localhost; several times for several
    #[arg(long = "name", value_name = "NAME", default_value = "hello.test")]
    names: Vec<String>,
    /// Put key and certificate into this folder [default: DIR/demo]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let dev = DevJson::read(&args.data_dir)?;
    let names = args.names.iter().map(|name| Identifier::parse(name).map_err(Failure::usage)).collect::<Result<_, _>>();
    let names: Vec<_> = names?;
    if let Some(name) = names.iter().find(|name| !ChallengeType::Http01.fits(name)) {
        return Err(Failure::usage(format!("{name} cannot be shown by a web page")).advise("leave it out of --name"));
    }
    let folder = args.out.clone().unwrap_or_else(|| args.data_dir.join("demo"));
    Threads::start()?.run(Demo { dev, names, folder }.run())
}

struct Demo {
    dev: DevJson,
    names: Vec<Identifier>,
    folder: PathBuf,
}

impl Demo {
    async fn run(&self) -> Result<(), Failure> {
        let client = self.client()?;
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).map_err(Failure::failed)?;
        let csr = make_request(&key, &self.names).map_err(Failure::failed)?;
        step("key", "a new P-256 key and a CSR")?;

        let email = format!("demo-{:x}@example.com", std::process::id());
        let account = ResellerAccountRequest { customer_email: email.clone(), ..Default::default() };
        let account = match client.accounts().create(&account).await {
            Ok(account) => account.lookup,
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
                client.accounts().get(&email).await.map_err(Failure::failed)?.account.lookup
            }
            Err(error) => return Err(Failure::failed(error)),
        };
        step("account", &format!("{account} ({email})"))?;

        let csr = BASE64.encode(&csr);
        let request = ResellerOrderRequest { account_lookup: Some(account), csr, ..Default::default() };
        let order = client.orders().create(&request).await.map_err(Failure::failed)?;
        step("order", &format!("{} is {}", order.lookup, order.status))?;

        let order = self.validate(&client, order).await?;
        client.orders().finalize(&order.lookup).await.map_err(Failure::failed)?;
        let (certificate, chain) = fetch(&client, &order).await?;
        step("certificate", &format!("{} is issued", order.certificate_lookup))?;
        self.save(&key, &certificate, &chain)
    }

    fn client(&self) -> Result<Client, Failure> {
        let dev = &self.dev;
        let ca = std::fs::read(&dev.ca_bundle)
            .map_err(|error| Failure::failed(format!("cannot read {}: {error}", dev.ca_bundle.display())))?;
        let credentials = ClientCredentials {
            client_id: dev.client_id.clone(),
            client_secret: dev.client_secret.clone(),
            audience: dev.audience.clone(),
            auth_url: dev.auth_url.clone(),
        };
        Client::builder(&dev.base_url).ca_pem(ca).credentials(credentials).build().map_err(Failure::failed)
    }

    /// Publishes the http-01 answers as a customer's web server would, and has them looked at.
    async fn validate(&self, client: &Client, order: Order) -> Result<Order, Failure> {
        let (mut pages, mut chosen) = (HashMap::new(), Vec::new());
        for authorization in order.authorizations.iter().filter(|each| each.status == "pending") {
            let codes = client.orders().challenges(&authorization.lookup).await.map_err(Failure::failed)?;
            let http = codes.challenges.into_iter().find(|challenge| challenge.kind == "http-01");
            let name = &authorization.identifier.value;
            let http = http.ok_or_else(|| Failure::usage(format!("{name} may not be shown by a web page here")))?;
            pages.insert(http.token.clone(), http.key_authorization.clone().unwrap_or_default());
            chosen.push((name.clone(), http));
        }
        let _server = publish(self.dev.http01_port, pages).await?;
        for (name, challenge) in &chosen {
            // Nobody looks where validation is skipped.
            if self.dev.http01_port != 0 {
                step("challenge", &format!("http://{name}:{}{}", self.dev.http01_port, path_of(&challenge.token)))?;
            }
            client.orders().choose(&challenge.lookup).await.map_err(Failure::failed)?;
        }
        let ready = wait_for(client, &order.lookup).await?;
        step("validation", &format!("control of {} is shown", self.shown()))?;
        Ok(ready)
    }

    fn save(&self, key: &PrivateKey, certificate: &str, chain: &str) -> Result<(), Failure> {
        private_folder(&self.folder)?;
        let name = self.names[0].to_string().replace(['*', ':'], "_");
        let at = |end: &str| self.folder.join(format!("{name}{end}"));
        let der = key.to_pkcs8().map_err(Failure::failed)?;
        let pem = der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Failure::failed)?;
        write(&at("-key.pem"), &pem, 0o600)?;
        write(&at(".pem"), certificate, 0o644)?;
        write(&at("-chain.pem"), chain, 0o644)?;
        step("saved", &format!("{}, with its chain and key beside it", at(".pem").display()))?;
        let shown = |path: &Path| path.display().to_string();
        let (root, chain, leaf) = (shown(&self.dev.issuer_bundle), shown(&at("-chain.pem")), shown(&at(".pem")));
        let dim = Style::new().dimmed();
        out(&format!("\n  {dim}Look at it:{dim:#}  openssl x509 -noout -text -in '{leaf}'\n"))?;
        out(&format!("  {dim}Check it:{dim:#}    openssl verify -CAfile '{root}' -untrusted '{chain}' '{leaf}'\n"))
    }

    fn shown(&self) -> String {
        self.names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

async fn wait_for(client: &Client, order: &str) -> Result<Order, Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = client.orders().get(order).await.map_err(Failure::failed)?;
        match (seen.status.as_str(), &seen.error) {
            ("ready", _) => return Ok(seen),
            (_, Some(problem)) => return Err(Failure::failed(format!("the order failed: {}", problem.detail))),
            _ if Instant::now() > end => return Err(Failure::failed("validation takes too long; look at the log")),
            _ => sleep(PAUSE).await,
        }
    }
}

async fn fetch(client: &Client, order: &Order) -> Result<(String, String), Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        match client.certificates().get(&order.certificate_lookup).await.map_err(Failure::failed)? {
            Fetched::Issued(found) => return Ok((found.certificate, found.chain)),
            Fetched::Pending(_) if Instant::now() > end => {
                return Err(Failure::failed("issuance takes too long; look at the log"));
            }
            Fetched::Pending(_) => sleep(PAUSE).await,
        }
    }
}

/// A web server with nothing but these pages, until it is dropped.
async fn publish(port: u16, pages: HashMap<String, String>) -> Result<tokio::task::JoinSet<()>, Failure> {
    let pages = Arc::new(pages);
    let page = |State(pages): State<Arc<HashMap<String, String>>>, UrlPath(token): UrlPath<String>| async move {
        pages.get(&token).cloned().ok_or(StatusCode::NOT_FOUND)
    };
    let router = Router::new().route(&path_of("{token}"), get(page)).with_state(pages);
    let mut serving = tokio::task::JoinSet::new();
    let mut refused = None;
    for address in [SocketAddr::from((Ipv6Addr::LOCALHOST, port)), SocketAddr::from((Ipv4Addr::LOCALHOST, port))] {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                let serve = axum::serve(listener, router.clone());
                serving.spawn(async move {
                    if let Err(error) = serve.await {
                        tracing::debug!(%error, "the demo's web server ended");
                    }
                });
            }
            Err(error) => refused = Some(format!("cannot listen on {address}: {error}")),
        }
    }
    match refused {
        Some(refused) if serving.is_empty() => {
            Err(Failure::usage(refused).advise("stop what listens there: it is where `dev` looks for http-01 answers"))
        }
        Some(_) | None => Ok(serving),
    }
}

fn path_of(token: &str) -> String {
    format!("/.well-known/acme-challenge/{token}")
}

fn step(name: &str, text: &str) -> Result<(), Failure> {
    let green = AnsiColor::Green.on_default();
    let bold = Style::new().bold();
    out(&format!("  {green}✓{green:#} {bold}{name:<12}{bold:#} {text}\n"))
}
