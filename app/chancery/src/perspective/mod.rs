//! `chancery perspective`: looks at names from where it runs, for a service elsewhere. It has no database, and no keys but
//! that of its TLS certificate.

mod door;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Validator, ValidatorConfig};
use chancery_http::tls::ReloadingCertificate;
use chancery_http::{Edge, Limits, finish};
use chancery_machine::{LogChoice, LogFormat, SystemClock, SystemEntropy, check_level, start_log};
use clap::{Args, ValueEnum};
use tokio::sync::watch;

pub use self::door::LEAST_SECRET;
use self::door::Secrets;
use crate::config::span;
use crate::failure::Failure;
use crate::files::read_secret;
use crate::installation::TlsFiles;
use crate::resolvers;
use crate::serve::{self, CERTIFICATE_LOOK, Signals, stopped};
use crate::threads::Threads;
use crate::version::VERSION;

/// Connections from one network: a node of the service has one for each question, and nobody else is to take all there are.
const PER_PEER: usize = 4096;

/// Looks at names from here, for a service elsewhere that has this perspective under `dcv.perspectives`.
#[derive(Args, Debug)]
pub struct PerspectiveArgs {
    /// Where to listen. Other machines are answered over TLS only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8444", env = "CHANCERY_PERSPECTIVE_LISTEN")]
    listen: SocketAddr,
    /// The TLS certificate of this server and those between it and its root, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "CHANCERY_PERSPECTIVE_TLS_CERTIFICATE")]
    tls_certificate: Option<PathBuf>,
    /// The key of the TLS certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate", env = "CHANCERY_PERSPECTIVE_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// The secret that the service has as well, in a file that only its owner can read. Several lines are several secrets
    #[arg(long, value_name = "FILE", env = "CHANCERY_PERSPECTIVE_SECRET_FILE")]
    secret_file: PathBuf,
    /// A DNS server to ask, such as 192.0.2.53; several with commas, or given several times. Default: those of /etc/resolv.conf
    #[arg(long = "resolver", value_name = "ADDRESS", value_parser = resolvers::parse, value_delimiter = ',',
          env = "CHANCERY_PERSPECTIVE_RESOLVERS")]
    resolvers: Vec<SocketAddr>,
    /// Whether signatures in the DNS are checked here
    #[arg(long, value_name = "HOW", default_value = "validate")]
    dnssec: DnssecChoice,
    /// How long what is missing is looked for again, 0s to 10s. The service has seen it already
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = retry_window)]
    retry_window: Duration,
    /// How many looks may be under way at once
    #[arg(long, value_name = "NUMBER", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_in_flight: u32,
    /// Connect to private, loopback and all other special addresses too: only inside of a network of your own
    #[arg(long)]
    allow_special_addresses: bool,
    /// Where http-01 looks; another than 80 only with --allow-special-addresses
    #[arg(long, value_name = "PORT", default_value_t = 80, value_parser = clap::value_parser!(u16).range(1..))]
    http01_port: u16,
    /// Where tls-alpn-01 looks; another than 443 only with --allow-special-addresses
    #[arg(long, value_name = "PORT", default_value_t = 443, value_parser = clap::value_parser!(u16).range(1..))]
    tls_alpn01_port: u16,
    /// How the log is written: for people, as JSON, or as fits where it goes
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    log_format: LogFormatChoice,
    /// How much is logged: error, warn, info, debug, trace or off
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    log_level: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DnssecChoice {
    Validate,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormatChoice {
    Auto,
    Human,
    Json,
}

/// The service waits 25 seconds for an answer: a look that begins at the end of the window must fit in.
fn retry_window(text: &str) -> Result<Duration, String> {
    let window = span::parse(text)?;
    if window > Duration::from_secs(10) { Err("must be 0s to 10s".to_owned()) } else { Ok(window) }
}

fn log_level(text: &str) -> Result<String, String> {
    check_level(text).map(|()| text.to_owned())
}

pub fn run(args: &PerspectiveArgs) -> Result<(), Failure> {
    let format = match args.log_format {
        LogFormatChoice::Auto => LogFormat::Auto,
        LogFormatChoice::Human => LogFormat::Human,
        LogFormatChoice::Json => LogFormat::Json,
    };
    let _log = start_log(&LogChoice { format, level: args.log_level.clone() }, None, VERSION)?;
    let certificate = args.certificate()?;
    let secrets = args.secrets()?;
    let validator = Validator::new(args.validator()?, Arc::new(SystemClock), Arc::new(SystemEntropy));
    let validator = validator.map_err(Failure::usage)?;
    let router = finish(door::router(validator, secrets), Edge::new(serve::request_ids()));
    Threads::start()?.run(async {
        let listener = serve::bind(args.listen, "--listen")?;
        let listening = listener.local_addr().map_err(Failure::failed)?;
        let limits = Limits { connections_per_peer: Some(PER_PEER), ..Limits::default() };
        let server = serve::server(router, certificate.clone())?.limits(limits);
        serve::raise_limit();
        let mut signals = Signals::listen()?;
        if let Some(certificate) = certificate.clone() {
            tokio::spawn(certificate.watch(CERTIFICATE_LOOK));
        }
        let (stop, _) = watch::channel(false);
        let serving = tokio::spawn(server.serve(listener, stopped(&stop)));
        tracing::info!(version = VERSION, listen = %listening, tls = certificate.is_some(), "looking for others from here");
        signals.until_stop(certificate.as_deref()).await;
        tracing::info!("stopping: finishing what is in flight");
        signals.exit_on_the_next();
        stop.send_replace(true);
        let _ = serving.await;
        tracing::info!("stopped");
        Ok(())
    })
}

impl PerspectiveArgs {
    /// None: plain HTTP, to this machine alone.
    fn certificate(&self) -> Result<Option<Arc<ReloadingCertificate>>, Failure> {
        let (Some(certificate), Some(key)) = (self.tls_certificate.clone(), self.tls_key.clone()) else {
            if self.listen.ip().to_canonical().is_loopback() {
                return Ok(None);
            }
            let said = format!("{} can be reached by other machines, and there is no TLS certificate", self.listen);
            let advice = "give --tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has one";
            return Err(Failure::usage(said).advise(advice));
        };
        serve::load(&TlsFiles { certificate, key }).map(Some)
    }

    fn secrets(&self) -> Result<Secrets, Failure> {
        let path = self.secret_file.display();
        let secrets = read_secret(&self.secret_file)
            .and_then(|text| Secrets::read(&text).map_err(|error| format!("{path}: {error}")));
        secrets.map_err(|error| match self.secret_file.exists() {
            true => Failure::usage(error),
            false => Failure::usage(error).advise(format!(
                "make one with `(umask 077; openssl rand -base64 32 > {path})` and give it to the service too"
            )),
        })
    }

    fn validator(&self) -> Result<ValidatorConfig, Failure> {
        let usual = ValidatorConfig::default();
        let ports = (self.http01_port, self.tls_alpn01_port);
        if ports != (usual.http01_port, usual.tls_alpn01_port) && !self.allow_special_addresses {
            let said = "other ports than 80 and 443 are only for a network of your own";
            return Err(Failure::usage(said).advise("leave them, or add --allow-special-addresses"));
        }
        let mut config = ValidatorConfig {
            resolvers: self.resolvers.clone(),
            dnssec: match self.dnssec {
                DnssecChoice::Validate => Dnssec::Validated { anchors: None },
                DnssecChoice::Off => Dnssec::Unchecked,
            },
            http01_port: self.http01_port,
            https_port: self.tls_alpn01_port,
            tls_alpn01_port: self.tls_alpn01_port,
            allow_special_addresses: self.allow_special_addresses,
            retry_window: self.retry_window,
            max_in_flight: self.max_in_flight as usize,
            ..usual
        };
        resolvers::find(&mut config, Path::new(resolvers::SYSTEM), "use --resolver")?;
        Ok(config)
    }
}
