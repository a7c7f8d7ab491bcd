//! Puts the parts of an installation together: keys, store, use cases.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use chancery_dcv::Validator;
use chancery_idp::{CodeRedeemer, FetchLimits, JwksFetcher, RedeemLimits};
use chancery_machine::{SystemClock, SystemEntropy};
use chancery_perspective::Remote;
use chancery_seal::{Keyring, KeyringError};
use chancery_service::identity::{CodeExchange, External};
use chancery_service::{Authority, Identity, Kernel, ServiceError, Services};
use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use chancery_workers::{Corroborated, Elsewhere, Inspector, Logs};

use crate::failure::Failure;
use crate::files::{beside, hold, read_secret};
use crate::installation::{ExternalKeys, Installation, Kek, Perspectives, Validation};

/// Everything that the doors and the operator's commands stand on.
pub struct Assembled {
    pub kernel: Arc<Kernel>,
    pub services: Services,
    pub fetchers: Vec<Arc<JwksFetcher>>,
}

impl ExternalKeys {
    /// Who redeems the codes of those that sign in, where they may.
    fn redeemer(&self) -> Result<Option<Arc<dyn CodeExchange>>, Failure> {
        let Some(sign_in) = &self.provider.sign_in else { return Ok(None) };
        let secret = self.client_secret_file.as_deref().map(read_secret).transpose().map_err(Failure::usage)?;
        let (url, ca, limits) = (&sign_in.token_url, self.ca_file.as_deref(), RedeemLimits::default());
        let redeemer = CodeRedeemer::new(url, ca, &sign_in.client_id, secret.as_ref(), limits);
        Ok(Some(Arc::new(redeemer.map_err(Failure::usage)?)))
    }
}

impl Installation {
    /// The key-encryption keys, which must be there already.
    pub fn keyring(&self) -> Result<Keyring, Failure> {
        match &self.kek {
            Kek::Text(text) => Keyring::from_base64(text.reveal()).map_err(Failure::usage),
            Kek::File(path) if !path.exists() => {
                let missing = format!("there is no key-encryption key at {}", path.display());
                let advice = format!("put it there, or run `chancery init {}` for a new installation", self.place);
                Err(Failure::usage(missing).advise(advice))
            }
            Kek::File(path) => Keyring::load(path).map_err(Failure::usage),
        }
    }

    /// The key-encryption keys, made if there are none. `now` is in Unix seconds.
    pub fn keyring_or_new(&self, now: i64) -> Result<Keyring, Failure> {
        match &self.kek {
            Kek::File(path) if !path.exists() => match Keyring::create(path, now) {
                // Another process was faster.
                Err(KeyringError::Exists { .. }) => self.keyring(),
                made => made.map_err(Failure::usage),
            },
            Kek::File(_) | Kek::Text(_) => self.keyring(),
        }
    }

    /// Opens the database. Blocks, and must not be called on a thread of an async runtime.
    pub fn open_store(&self, options: &Options) -> Result<Store, Failure> {
        if !options.migrate {
            self.require_database()?;
        }
        self.require_one_name()?;
        Store::open(&self.database, options).map_err(|error| self.not_opened(error))
    }

    /// That the file of the database is there. One that was lost must not be taken for one that is still to be made.
    pub fn require_database(&self) -> Result<(), Failure> {
        match &self.database {
            DatabaseUrl::Sqlite(path) if !path.exists() => {
                let missing = Failure::usage(format!("there is no database at {}", path.display()));
                let place = &self.place;
                Err(missing.advise(format!(
                    "run `chancery init {place}` for a new one, or `chancery restore {place} --from BACKUP` where it was lost"
                )))
            }
            DatabaseUrl::Sqlite(_) | DatabaseUrl::Postgres(_) => Ok(()),
        }
    }

    /// That something is in it: who serves from a database makes nothing of an empty one, which somebody may be about to fill.
    pub fn require_filled(&self) -> Result<(), Failure> {
        let facts = Store::facts(&self.database, &self.store).map_err(|error| self.not_opened(error))?;
        if facts.schema > 0 {
            return Ok(());
        }
        let place = &self.place;
        let empty = Failure::usage(format!("{} is empty", self.database));
        Err(empty.advise(match &self.database {
            DatabaseUrl::Sqlite(_) => format!(
                "run `chancery init {place}` for a new one, or remove it and run `chancery restore {place} --from BACKUP`"
            ),
            DatabaseUrl::Postgres(_) => format!(
                "run `chancery init {place}` for a new one, or put a backup back with pg_restore and run `chancery restore \
                 --in-place {place}`"
            ),
        }))
    }

    /// Keeps a second service away from a SQLite database for as long as the answer is kept: each would remember by itself
    /// which nonces were used. Commands may work beside it.
    pub fn hold_database(&self) -> Result<Option<File>, Failure> {
        let DatabaseUrl::Sqlite(path) = &self.database else { return Ok(None) };
        let held = hold(&beside(path, ".lock"))?.ok_or_else(|| {
            let taken = Failure::usage(format!("another service runs on {}", self.database));
            taken.advise("stop it; several nodes need PostgreSQL")
        });
        held.map(Some)
    }

    /// That a SQLite database has no second name by a hard link: its log is kept beside the name that it was opened by, and who
    /// opens it by the other knows nothing of that log, and overwrites what is in it.
    pub fn require_one_name(&self) -> Result<(), Failure> {
        let DatabaseUrl::Sqlite(path) = &self.database else { return Ok(()) };
        // What cannot be looked at is told when it is opened.
        let names = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.nlink());
        let Some(names) = names.filter(|names| *names > 1) else { return Ok(()) };
        let failure = Failure::usage(format!("{} has {names} names, by hard links", path.display()));
        let left = beside(path, ".restoring");
        Err(failure.advise(match left.exists() {
            true => format!("remove {}, which a restore has left that was cut off", left.display()),
            false => "remove the others; `chancery backup` makes copies".to_owned(),
        }))
    }

    /// Says why a database could not be opened, and what to do.
    pub fn not_opened(&self, error: StoreError) -> Failure {
        let said = format!("cannot open {}: {error}", self.database);
        match (&self.database, &error) {
            (DatabaseUrl::Sqlite(_), StoreError::Unavailable(_)) => {
                Failure::usage(said).advise("check that its folder exists and that this user may write there")
            }
            (_, StoreError::NewerSchema { .. } | StoreError::OlderSchema { .. }) => {
                Failure::usage(format!("{}: {error}", self.database))
            }
            (_, StoreError::Unavailable(_)) => {
                Failure::failed(said).advise("check that the server runs and that the URL is right")
            }
            (_, StoreError::Url(_) | StoreError::Exposed(_)) => Failure::usage(said),
            (_, StoreError::Corrupt(_) | StoreError::Damaged(_)) => {
                Failure::failed(said).advise("is it a database of this service at all?")
            }
            (
                _,
                StoreError::Stale { .. } | StoreError::QueueFull | StoreError::Unknown(_) | StoreError::Database(_),
            ) => Failure::failed(said),
        }
    }

    /// The use cases, on an open store.
    pub async fn assemble(&self, store: Store, keyring: Keyring) -> Result<Assembled, Failure> {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        let (token, settings, blocklist) = (self.token.clone(), self.settings.clone(), self.blocklist.clone());
        let kernel = Kernel::new(store, clock, entropy, keyring, token, settings, blocklist).await;
        let kernel = kernel.map_err(|error| self.not_assembled(error))?;
        let (mut external, mut fetchers) = (Vec::new(), Vec::new());
        for keys in &self.external_keys {
            let url = &keys.provider.jwks_url;
            let fetcher = JwksFetcher::new(url, keys.ca_file.as_deref(), FetchLimits::default());
            let fetcher = Arc::new(fetcher.map_err(Failure::usage)?);
            let codes = keys.redeemer()?;
            external.push(External { provider: keys.provider.clone(), keys: fetcher.clone(), codes });
            fetchers.push(fetcher);
        }
        let identity = Identity::new(kernel.clone(), external).await.map_err(|error| self.not_assembled(error))?;
        let authority = Authority::new(kernel.clone()).await.map_err(|error| self.not_assembled(error))?;
        let services = Services::new(kernel.clone(), identity, authority);
        Ok(Assembled { kernel, services, fetchers })
    }

    /// Who looks whether names are controlled; nobody where that is skipped.
    pub fn inspector(&self) -> Result<Option<Arc<dyn Inspector>>, Failure> {
        let Validation::Checked(config) = &self.validation else { return Ok(None) };
        let validator = Validator::new((**config).clone(), Arc::new(SystemClock), Arc::new(SystemEntropy));
        let validator = Arc::new(validator.map_err(Failure::usage)?);
        let Perspectives { remotes, quorum } = &self.perspectives;
        if remotes.is_empty() {
            return Ok(Some(validator));
        }
        let elsewhere = |remote: &Remote| Elsewhere::new(remote.name(), Arc::new(remote.clone()));
        let others = remotes.iter().map(elsewhere).collect();
        Ok(Some(Arc::new(Corroborated::new(validator, others, quorum.clone()))))
    }

    /// Those who are shown certificates before they are issued.
    pub fn log_keepers(&self) -> Arc<Logs> {
        Arc::new(Logs::new(self.logs.keepers(), Arc::new(SystemClock)))
    }

    /// The first secrets that are opened tell whether the keyring is the database's.
    fn not_assembled(&self, error: ServiceError) -> Failure {
        match error {
            ServiceError::Internal(message) => {
                let at = match &self.kek {
                    Kek::File(path) => path.display().to_string(),
                    Kek::Text(_) => "in the environment".to_owned(),
                };
                Failure::usage(format!("the secrets in {} do not open: {message}", self.database))
                    .advise(format!("the key-encryption key ({at}) must be the one that this database was made with"))
            }
            other => other.into(),
        }
    }
}
