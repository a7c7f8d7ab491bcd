//! The folder of a `dev`, and what is where in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chancery_domain::{ChallengeType, Name, Profile, WebhookUrlRules};
use chancery_http::{BodyLimits, Limits, PublicUrls, TrustedProxies};
use chancery_machine::{LogChoice, LogFormat};
use chancery_overload::LimitSettings;
use chancery_pki::chain_to_pem;
use chancery_service::operator::IssuerDetails;
use chancery_service::{Settings, WebhookSettings};
use chancery_store::{DatabaseUrl, Options};
use serde::{Deserialize, Serialize};

use super::demo::Demo;
use super::json::{self, DevJson, PebbleJson};
use super::pebble::{self, Kept};
use super::wishes::Wishes;
use crate::config::IDEMPOTENCY_WINDOW;
use crate::failure::Failure;
use crate::files::{behind_links, hold, private_folder, remove, unwritable, write};
use crate::installation::{Addresses, Installation, Kek, Logs, Perspectives, Place, ServerLimits, TlsFiles};

/// The `aud` of a `dev`'s tokens: the same whatever port it listens on.
pub const AUDIENCE: &str = "https://chancery.test";

/// What `serve` holds to where nothing else is said: a `dev` with more to do than it can says so as well.
const REQUESTS_AT_ONCE: usize = 4096;

/// An absolute path to a folder that exists.
pub struct Folder(PathBuf);

/// What is kept from one start to the next. Only hashes of the secrets are in the database, so they are kept here.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    /// None: SQLite in the folder itself, which may then be moved.
    pub database_url: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub api_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_key: Option<String>,
    /// The credentials that stand in for those of Pebble.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pebble: BTreeMap<String, Kept>,
}

impl Folder {
    /// A folder that a `dev` has used.
    pub fn find(path: &Path) -> Result<Self, Failure> {
        let folder = Self::at(path)?;
        if folder.state_path().exists() {
            return Ok(folder);
        }
        let missing = Failure::usage(format!("{} is not the folder of a `chancery dev`", path.display()));
        Err(missing.advise(format!("start one with `chancery dev --data-dir {}`, or name another", path.display())))
    }

    /// The folder, made if it is not there.
    pub fn make(path: &Path) -> Result<Self, Failure> {
        private_folder(path)?;
        Self::at(path)
    }

    fn at(path: &Path) -> Result<Self, Failure> {
        let absolute = std::path::absolute(path).map_err(|error| unwritable("find", path, &error))?;
        Ok(Self(absolute))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn tls(&self, name: &str) -> PathBuf {
        self.0.join("tls").join(name)
    }

    pub fn issuer_root(&self) -> PathBuf {
        self.0.join("issuer-root.pem")
    }

    /// The root that vouches for the issuing CAs as well, for clients that prefer it.
    pub fn alternate_root(&self) -> PathBuf {
        self.0.join("issuer-root-x2.pem")
    }

    fn state_path(&self) -> PathBuf {
        self.0.join("dev-state.json")
    }

    fn dev_json(&self) -> PathBuf {
        self.0.join(json::NAME)
    }

    /// Where the `dev` in this folder listens, or did when it was last seen.
    fn listening(&self) -> Option<Addresses> {
        let told: serde_json::Value = serde_json::from_slice(&fs::read(self.dev_json()).ok()?).ok()?;
        let address = |name: &str| told[name].as_str()?.split_once("://")?.1.parse().ok();
        Some(Addresses { api: address("base_url")?, http: address("http_url")?, admin: address("admin_url")? })
    }

    /// Keeps a second `dev` out of the folder for as long as the file is held.
    pub fn hold(&self) -> Result<File, Failure> {
        hold(&self.0.join("dev.lock"))?.ok_or_else(|| {
            let taken = Failure::usage(format!("another `chancery dev` is running in {}", self.0.display()));
            taken.advise("stop it, or choose another folder with --data-dir")
        })
    }

    pub fn state(&self) -> Result<State, Failure> {
        let path = self.state_path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::default()),
            Err(error) => return Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
        };
        serde_json::from_str(&text).map_err(|error| {
            let broken = Failure::usage(format!("{} is broken: {error}", path.display()));
            broken.advise("mend or remove it; without it `dev` makes new demo credentials")
        })
    }

    pub fn save(&self, state: &State) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(state).map_err(Failure::failed)?;
        write(&self.state_path(), &text, 0o600)
    }

    /// Remembers which database was opened, so that the folder alone finds it later.
    pub fn remember_database(&self, url: Option<&str>) -> Result<(), Failure> {
        let mut state = self.state()?;
        if let Some(url) = url {
            state.database_url = Some(from_anywhere(url)?);
        }
        self.save(&state)
    }

    /// What a `dev` in this folder is, on these addresses; on its own or the usual ones where none are given.
    pub fn installation(&self, wishes: &Wishes) -> Result<Installation, Failure> {
        let listen = wishes.listen.or_else(|| self.listening()).unwrap_or_else(usual_addresses);
        let urls = urls(&listen);
        let state = self.state()?;
        let asked = wishes.database_url.as_deref().map(from_anywhere).transpose()?;
        let known = asked.or(state.database_url).map(|url| url.parse().map_err(Failure::from)).transpose()?;
        let database = match known.unwrap_or_else(|| DatabaseUrl::Sqlite(self.0.join("chancery.db"))) {
            DatabaseUrl::Sqlite(path) => DatabaseUrl::Sqlite(behind_links(&path)),
            server @ DatabaseUrl::Postgres(_) => server,
        };
        let mut profiles = Profile::predefined();
        // Once there, they stay: what was ordered with them is of them.
        if wishes.pebble || !state.pebble.is_empty() {
            profiles.extend(pebble::profiles());
        }
        if wishes.draft_challenges {
            profiles.iter_mut().for_each(|profile| profile.challenge_types = ChallengeType::ALL.to_vec());
        }
        Ok(Installation {
            place: Place::Folder(self.0.clone()),
            listen,
            tls: Some(TlsFiles { certificate: self.tls("server.pem"), key: self.tls("server-key.pem") }),
            database,
            store: Options::default(),
            kek: Kek::File(self.0.join("kek.json")),
            token: None,
            settings: Settings {
                issuer: urls.auth_url.clone(),
                audience: AUDIENCE.to_owned(),
                token_lifetime: Duration::from_secs(86_400),
                token_key_rotation: Duration::from_secs(30 * 86_400),
                token_key_notice: Duration::from_secs(3600),
                api_keys: true,
                external: Vec::new(),
                issuing: wishes.issuing(&profiles, &urls),
                acme: wishes.acme(&urls),
                default_profile: profiles[0].name.clone(),
                profiles,
                default_policy: wishes.policy(),
                default_policy_name: Name::parse("default").expect("a plain word"),
                retention: chancery_service::Retention::default(),
                idempotency_window: IDEMPOTENCY_WINDOW,
                webhooks: WebhookSettings::of(WebhookUrlRules { plain_http: true, special_addresses: true }),
                limits: if wishes.limits { LimitSettings::usual() } else { LimitSettings::none() },
            },
            urls,
            validation: wishes.validation(),
            perspectives: Perspectives::default(),
            logs: Logs::default(),
            blocklist: None,
            external_keys: Vec::new(),
            limits: ServerLimits {
                http: Limits::default(),
                body: BodyLimits::default(),
                requests_at_once: Some(REQUESTS_AT_ONCE),
            },
            proxies: TrustedProxies::default(),
            shutdown_delay: Duration::ZERO,
            log: LogChoice { format: LogFormat::Auto, level: "info".to_owned() },
            telemetry: None,
        })
    }

    /// Writes the root that verifies issued certificates.
    pub fn write_issuer_root(&self, hierarchy: &[IssuerDetails]) -> Result<(), Failure> {
        let roots = hierarchy.iter().filter(|issuer| issuer.parent.is_none()).map(|issuer| &issuer.certificate);
        write(&self.issuer_root(), &chain_to_pem(roots), 0o644)
    }

    /// Tells scripts that the server is ready, where it is and how to get in.
    pub fn write_dev_json(
        &self,
        installation: &Installation,
        demo: &Demo,
        pebble: Option<&PebbleJson>,
    ) -> Result<(), Failure> {
        let (urls, (http01_port, tls_alpn01_port)) = (installation.urls.clone(), installation.validation.ports());
        let json = DevJson {
            base_url: urls.base_url,
            acme_url: urls.acme_url,
            auth_url: urls.auth_url,
            audience: installation.settings.audience.clone(),
            client_id: demo.client_id.clone(),
            client_secret: demo.client_secret.reveal().to_owned(),
            api_key: demo.api_key.reveal().to_owned(),
            console_url: format!("{}{}", installation.urls.base_url, chancery_console::PATH),
            operator_key: demo.operator_key.reveal().to_owned(),
            ca_bundle: self.tls("ca.pem"),
            issuer_bundle: self.issuer_root(),
            alternate_issuer_bundle: self.alternate_root(),
            admin_url: url("http", installation.listen.admin),
            http_url: urls.http_url,
            http01_port,
            tls_alpn01_port,
            pebble: pebble.cloned(),
        };
        json.write(&self.dev_json())
    }

    pub fn remove_dev_json(&self) -> Result<(), Failure> {
        remove(&self.dev_json())
    }
}

/// The address of a listener, as a client on this machine writes it.
pub fn url(scheme: &str, address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

/// The address of a database as it can be read from any folder.
fn from_anywhere(url: &str) -> Result<String, Failure> {
    Ok(match url.parse::<DatabaseUrl>().map_err(Failure::from)? {
        DatabaseUrl::Sqlite(path) => {
            let path = std::path::absolute(&path).map_err(|error| unwritable("find", &path, &error))?;
            DatabaseUrl::Sqlite(path).to_string()
        }
        // As it was given: shown, a URL lacks its password.
        DatabaseUrl::Postgres(_) => url.to_owned(),
    })
}

fn urls(listen: &Addresses) -> PublicUrls {
    let api = url("https", listen.api);
    PublicUrls { base_url: api.clone(), acme_url: api.clone(), auth_url: api, http_url: url("http", listen.http) }
}

fn usual_addresses() -> Addresses {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Addresses { api: at(8443), http: at(8080), admin: at(9090) }
}
